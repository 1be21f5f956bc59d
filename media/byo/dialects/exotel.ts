import type { Digit } from '../../base/frame.js'
import { basicCredentials } from './authentication.js'
import { type BotDialect, NARROWBAND, WIDEBAND } from './bot-dialect.js'
import { MediaStreamsDialect } from './media-streams.js'
import type { StopReason, StreamInfo } from './wire-format.js'

/*
 * Exotel's Voicebot applet and StartStream: snake case, 100 ms per message. The applet sends linear16, StartStream
 * mu-law unless its content type says otherwise. The query parameters of the URL are repeated when the stream begins.
 * Bots hang up by closing the socket.
 * https://developer.exotel.com/docs/agentstream/websocket-protocol
 * https://developer.exotel.com/docs/exoml/verbs/stream
 */

class Exotel extends MediaStreamsDialect {
  override readonly framesPerMessage = 5
  protected override readonly track = ''

  constructor(stream: StreamInfo) {
    super(stream, { sequence: 'sequence_number', stream: 'stream_sid' }, stream.streamId)
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.stream
    const start = {
      stream_sid: streamId,
      call_sid: spec.callId,
      account_sid: spec.accountId,
      from: spec.from,
      to: spec.to,
      custom_parameters: { ...Object.fromEntries(new URL(spec.url).searchParams), ...spec.customParameters },
      media_format: {
        // The name of StartStream's content type; its start message is not documented.
        encoding: spec.format === 'mulaw' ? 'audio/x-mulaw' : 'audio/x-raw',
        sample_rate: String(spec.sampleRate),
        // Bits of a sample, in spite of the name.
        bit_rate: spec.format === 'mulaw' ? '8' : '16',
      },
    }
    return [JSON.stringify({ event: 'connected' }), this.event('start', start)]
  }

  dtmf(digit: Digit, durationMs: number): string {
    return this.event('dtmf', { digit, duration: String(durationMs) })
  }

  stop(reason: StopReason): string {
    const { callId, accountId } = this.stream.spec
    return this.event('stop', {
      call_sid: callId,
      account_sid: accountId,
      reason: reason === 'caller_hangup' ? 'callended' : 'stopped',
    })
  }
}

export const EXOTEL = {
  type: 'exotel',
  transport: 'websocket',
  audio: [
    ['linear16', WIDEBAND],
    ['mulaw', NARROWBAND],
  ],
  parameters: 'map',
  authenticate: basicCredentials,
  rateParameter: 'sample-rate',
  hangUp: null,
  open: (stream) => new Exotel(stream),
} as const satisfies BotDialect
