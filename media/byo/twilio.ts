import type { Digit } from '../frame.js'
import type { BotCommand, Dialect, StreamFacts, TransferUpdate } from './dialect.js'
import { readStream } from './wire.js'

/*
 * Twilio Media Streams, bidirectional. Counters are strings; ids have Twilio's prefixes before the 32
 * hexadecimal digits of ours, because its bots look at them.
 */

export function openTwilio(facts: StreamFacts): Dialect {
  return new Twilio(facts)
}

/** A UUID as a Twilio SID. */
export function sid(prefix: 'AC' | 'CA' | 'MZ', uuid: string): string {
  return `${prefix}${uuid.replaceAll('-', '')}`
}

class Twilio implements Dialect {
  readonly soundHead = null
  readonly framesPerMessage = 1
  readonly #facts: StreamFacts
  readonly #streamSid: string
  readonly #callSid: string
  readonly #accountSid: string
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamFacts) {
    this.#facts = facts
    this.#streamSid = sid('MZ', facts.streamId)
    this.#callSid = sid('CA', facts.spec.callId)
    this.#accountSid = sid('AC', facts.spec.accountId)
  }

  opening(): readonly string[] {
    const { spec } = this.#facts
    const start = {
      streamSid: this.#streamSid,
      accountSid: this.#accountSid,
      callSid: this.#callSid,
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      // Where bots built on Pipecat look for the numbers; the customer's own come last and win.
      customParameters: { from_number: spec.from, to_number: spec.to, ...spec.customParameters },
    }
    this.#sequence++
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      JSON.stringify({
        event: 'start',
        sequenceNumber: String(this.#sequence),
        streamSid: this.#streamSid,
        start,
      }),
    ]
  }

  media(payload: string, atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"event":"media","sequenceNumber":"${this.#sequence}","streamSid":"${this.#streamSid}","media":{"track":"inbound","chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"${payload}"}}`
  }

  dtmf(digit: Digit): string {
    return this.#event('dtmf', { track: 'inbound_track', digit })
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

  stop(): string {
    return this.#event('stop', { accountSid: this.#accountSid, callSid: this.#callSid })
  }

  read(line: string): BotCommand {
    return readStream(line)
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      event,
      sequenceNumber: String(this.#sequence),
      streamSid: this.#streamSid,
      [event]: body,
    })
  }
}
