import type { Digit } from '../../base/frame.js'
import type { Dialect, StreamInfo } from './dialect.js'
import { MediaStreamsDialect } from './media-streams.js'

/*
 * Telnyx media streaming: snake case, the stream at the top of every message to the bot and in none
 * from it.
 */

export function openTelnyx(facts: StreamInfo): Dialect {
  return new Telnyx(facts)
}

class Telnyx extends MediaStreamsDialect {
  /** What the beginning and the end of a stream both name. */
  readonly #ids: { readonly user_id: string; readonly call_control_id: string }

  constructor(facts: StreamInfo) {
    super(facts, { sequence: 'sequence_number', stream: 'stream_id' }, facts.streamId)
    this.#ids = { user_id: facts.spec.accountId, call_control_id: `v3:${facts.spec.callId}` }
  }

  opening(): readonly string[] {
    const { spec } = this.facts
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
    const occurredAt = new Date(this.facts.startedAt + this.chunks * 20).toISOString()
    return this.event('dtmf', { digit }, { occurred_at: occurredAt })
  }

  stop(): string {
    return this.event('stop', this.#ids)
  }
}
