import type { Digit } from '../../base/frame.js'
import type { Dialect, StreamInfo } from './dialect.js'
import { MediaStreamsDialect } from './media-streams.js'

/*
 * Twilio Media Streams, bidirectional. Ids have Twilio's prefixes before the 32 hexadecimal digits of
 * ours, because its bots look at them.
 */

export function openTwilio(facts: StreamInfo): Dialect {
  return new Twilio(facts)
}

/** A UUID as a Twilio SID. */
export function sid(prefix: 'AC' | 'CA' | 'MZ', uuid: string): string {
  return `${prefix}${uuid.replaceAll('-', '')}`
}

class Twilio extends MediaStreamsDialect {
  readonly #streamSid: string
  /** What the beginning and the end of a stream both name. */
  readonly #ids: { readonly accountSid: string; readonly callSid: string }

  constructor(facts: StreamInfo) {
    const streamSid = sid('MZ', facts.streamId)
    super(facts, { sequence: 'sequenceNumber', stream: 'streamSid' }, streamSid)
    this.#streamSid = streamSid
    this.#ids = { accountSid: sid('AC', facts.spec.accountId), callSid: sid('CA', facts.spec.callId) }
  }

  opening(): readonly string[] {
    const { from, to, customParameters } = this.facts.spec
    const start = {
      streamSid: this.#streamSid,
      ...this.#ids,
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      // Where bots built on Pipecat look for the numbers; the customer's own come last and win.
      customParameters: { from_number: from, to_number: to, ...customParameters },
    }
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      this.event('start', start),
    ]
  }

  dtmf(digit: Digit): string {
    return this.event('dtmf', { track: 'inbound_track', digit })
  }

  stop(): string {
    return this.event('stop', this.#ids)
  }
}
