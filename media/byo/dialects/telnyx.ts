import type { Digit } from '../../base/frame.js'
import type { Dialect, StreamInfo } from './dialect.js'
import { MediaStreamsDialect } from './media-streams.js'

/*
 * Telnyx media streaming: snake case. Messages to the bot name the stream, messages from it do not.
 * https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming
 */

export function openTelnyx(stream: StreamInfo): Dialect {
  return new Telnyx(stream)
}

class Telnyx extends MediaStreamsDialect {
  /** Ids in both the start and the stop message. */
  readonly #ids: { readonly user_id: string; readonly call_control_id: string }

  constructor(stream: StreamInfo) {
    super(stream, { sequence: 'sequence_number', stream: 'stream_id' }, stream.streamId)
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
        encoding: spec.format === 'alaw' ? 'PCMA' : 'PCMU',
        sample_rate: 8000,
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
