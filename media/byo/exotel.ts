import type { Digit } from '../frame.js'
import type { BotCommand, Dialect, StopReason, StreamFacts, TransferUpdate } from './dialect.js'
import { readStream } from './wire.js'

/*
 * Exotel's Voicebot: snake case, strings for counters, linear16, 100 ms in one message. Bots hang up
 * by closing the socket.
 */

const FRAMES = 5

export function openExotel(facts: StreamFacts): Dialect {
  return new Exotel(facts)
}

class Exotel implements Dialect {
  readonly soundHead = null
  readonly framesPerMessage = FRAMES
  readonly #facts: StreamFacts
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamFacts) {
    this.#facts = facts
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#facts
    this.#sequence++
    return [
      JSON.stringify({ event: 'connected' }),
      JSON.stringify({
        event: 'start',
        sequence_number: String(this.#sequence),
        stream_sid: streamId,
        start: {
          stream_sid: streamId,
          call_sid: spec.callId,
          account_sid: spec.accountId,
          from: spec.from,
          to: spec.to,
          custom_parameters: spec.customParameters,
          media_format: {
            encoding: 'base64',
            sample_rate: String(spec.sampleRate),
            bit_rate: `${(spec.sampleRate * 16) / 1000}kbps`,
          },
        },
      }),
    ]
  }

  media(payload: string, atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"event":"media","sequence_number":"${this.#sequence}","stream_sid":"${this.#facts.streamId}","media":{"chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"${payload}"}}`
  }

  dtmf(digit: Digit, durationMs: number): string {
    return this.#event('dtmf', { digit, duration: String(durationMs) })
  }

  marked(name: string): string {
    return this.#event('mark', { name })
  }

  played(): null {
    return null
  }

  cleared(): null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return this.#event('transfer', update)
  }

  error(): null {
    return null
  }

  stop(reason: StopReason): string {
    const { callId, accountId } = this.#facts.spec
    return this.#event('stop', {
      call_sid: callId,
      account_sid: accountId,
      reason: reason === 'caller_hangup' ? 'callended' : 'stopped',
    })
  }

  read(line: string): BotCommand {
    return readStream(line)
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      event,
      sequence_number: String(this.#sequence),
      stream_sid: this.#facts.streamId,
      [event]: body,
    })
  }
}
