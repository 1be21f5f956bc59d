import type { Digit } from '../frame.js'
import type { BotCommand, Dialect, StreamFacts, TransferUpdate } from './dialect.js'
import { readStream } from './wire.js'

/*
 * Telnyx media streaming: snake case, `stream_id` at the top of every message to the bot and in none
 * from it.
 */

export function openTelnyx(facts: StreamFacts): Dialect {
  return new Telnyx(facts)
}

class Telnyx implements Dialect {
  readonly soundHead = null
  readonly framesPerMessage = 1
  readonly #facts: StreamFacts
  readonly #callControlId: string
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamFacts) {
    this.#facts = facts
    this.#callControlId = `v3:${facts.spec.callId}`
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#facts
    this.#sequence++
    return [
      JSON.stringify({ event: 'connected', version: '1.0.0' }),
      JSON.stringify({
        event: 'start',
        sequence_number: String(this.#sequence),
        stream_id: streamId,
        start: {
          user_id: spec.accountId,
          call_control_id: this.#callControlId,
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
        },
      }),
    ]
  }

  media(payload: string, atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"event":"media","sequence_number":"${this.#sequence}","stream_id":"${this.#facts.streamId}","media":{"track":"inbound","chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"${payload}"}}`
  }

  dtmf(digit: Digit): string {
    const occurredAt = new Date(this.#facts.startedAt + this.#chunk * 20).toISOString()
    return this.#event('dtmf', { occurred_at: occurredAt, dtmf: { digit } })
  }

  marked(name: string): string {
    return this.#event('mark', { mark: { name } })
  }

  played(): null {
    return null
  }

  cleared(): null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return this.#event('transfer', { transfer: update })
  }

  error(): null {
    return null
  }

  stop(): string {
    const stop = { user_id: this.#facts.spec.accountId, call_control_id: this.#callControlId }
    return this.#event('stop', { stop })
  }

  read(line: string): BotCommand {
    return readStream(line)
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      event,
      sequence_number: String(this.#sequence),
      stream_id: this.#facts.streamId,
      ...body,
    })
  }
}
