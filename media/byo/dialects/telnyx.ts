import type { Digit } from '../../base/frame.js'
import { type FrameCoder, openFrameCoder } from '../audio/frame-coder.js'
import type { BotFormat } from '../bot-spec.js'
import { bearerToken } from './authentication.js'
import { type BotDialect, NARROWBAND } from './bot-dialect.js'
import { MediaStreamsDialect } from './media-streams.js'
import type { StreamInfo } from './wire-format.js'

/*
 * Telnyx media streaming: snake case. Messages to the bot name the stream, messages from it do not. Their audio is the payload
 * of RTP packets: linear16 is L16 in network byte order, and an Opus message holds one packet.
 * https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming
 */

class Telnyx extends MediaStreamsDialect {
  readonly coder: FrameCoder | null
  /** Ids in both the start and the stop message. */
  readonly #ids: { readonly user_id: string; readonly call_control_id: string }

  constructor(stream: StreamInfo) {
    super(stream, { sequence: 'sequence_number', stream: 'stream_id' }, stream.streamId)
    this.coder = openFrameCoder(stream.spec.format, stream.spec.sampleRate)
    this.#ids = { user_id: stream.spec.accountId, call_control_id: `v3:${stream.spec.callId}` }
  }

  opening(): readonly string[] {
    const { spec } = this.stream
    const start = {
      ...this.#ids,
      call_session_id: spec.callId,
      from: spec.from,
      to: spec.to,
      tags: [],
      client_state: null,
      custom_parameters: spec.customParameters,
      media_format: {
        encoding: ENCODINGS[spec.format],
        // The clock rate of RTP, which is 8000 for G.722 (RFC 3551 section 4.5.2).
        sample_rate: spec.format === 'g722' ? 8000 : spec.sampleRate,
        channels: 1,
      },
    }
    return [JSON.stringify({ event: 'connected', version: '1.0.0' }), this.event('start', start)]
  }

  dtmf(digit: Digit): string {
    const occurredAt = new Date(this.stream.startedAt + this.chunks * 20).toISOString()
    return this.event('dtmf', { digit }, { occurred_at: occurredAt })
  }

  stop(): string {
    return this.event('stop', this.#ids)
  }
}

const ENCODINGS: Readonly<Record<BotFormat, string>> = {
  linear16: 'L16',
  mulaw: 'PCMU',
  alaw: 'PCMA',
  g722: 'G722',
  opus: 'OPUS',
}

/** Error codes by HTTP status; any other is 10015. */
const ERROR_CODES: Readonly<Record<number, string>> = {
  401: '10009',
  403: '10010',
  404: '10005',
  429: '10011',
}

export const TELNYX = {
  type: 'telnyx',
  transport: 'websocket',
  audio: [
    ['mulaw', NARROWBAND],
    ['alaw', NARROWBAND],
    ['linear16', [16_000, 8000, 24_000]],
    ['g722', [16_000]],
    ['opus', [16_000, 8000]],
  ],
  parameters: 'map',
  authenticate: bearerToken,
  // https://developers.telnyx.com/api/call-control/hangup-call
  hangUp: {
    method: 'post',
    paths: ['/v2/calls/:call/actions/hangup'],
    uuid: (call) => call.replace(/^v3:/, ''),
    ends: () => true,
    done: () => ({ status: 200, body: { data: { result: 'ok' } } }),
    refused: ({ status, title, message, url }) => ({
      errors: [{ code: ERROR_CODES[status] ?? '10015', title, detail: message, meta: { url } }],
    }),
  },
  open: (stream) => new Telnyx(stream),
} as const satisfies BotDialect
