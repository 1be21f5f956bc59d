import type { Digit } from '../frame.js'
import type { BotCommand, BotErrorCode, Dialect, StopReason, StreamFacts, TransferUpdate } from './dialect.js'
import type { BotFormat } from './spec.js'
import { readStream } from './wire.js'

/*
 * The native protocol: a superset of Twilio Media Streams in any of our formats, with events for what
 * became of marks, clears and transfers. docs/byo.md describes it.
 */

const ENCODINGS: Readonly<Record<BotFormat, string>> = {
  linear16: 'audio/x-l16',
  mulaw: 'audio/x-mulaw',
  alaw: 'audio/x-alaw',
}

const EXTENSIONS = ['transfer', 'hangup', 'dtmf', 'cleared', 'error', 'binary']

export function openNative(facts: StreamFacts): Dialect {
  return new Native(facts)
}

class Native implements Dialect {
  readonly soundHead = null
  readonly framesPerMessage = 1
  readonly #facts: StreamFacts
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamFacts) {
    this.#facts = facts
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#facts
    const { callId, accountId, from, to, direction, format, sampleRate, customParameters } = spec
    const start = {
      streamSid: streamId,
      streamId,
      callSid: callId,
      callId,
      accountSid: accountId,
      accountId,
      from,
      to,
      direction,
      tracks: ['inbound'],
      mediaFormat: {
        encoding: ENCODINGS[format],
        format,
        ...(format === 'linear16' ? { endianness: 'little' } : {}),
        sampleRate,
        channels: 1,
      },
      customParameters,
      extensions: EXTENSIONS,
    }
    this.#sequence++
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }),
      JSON.stringify({
        event: 'start',
        sequenceNumber: String(this.#sequence),
        streamSid: streamId,
        streamId,
        start,
      }),
    ]
  }

  media(payload: string, atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"event":"media","sequenceNumber":"${this.#sequence}","streamSid":"${this.#facts.streamId}","media":{"track":"inbound","chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"${payload}"}}`
  }

  dtmf(digit: Digit, durationMs: number): string {
    return this.#event('dtmf', { track: 'inbound_track', digit, durationMs })
  }

  marked(name: string, status: 'played' | 'cleared'): string {
    return this.#event('mark', { name, status })
  }

  played(): null {
    return null
  }

  cleared(droppedMs: number): string {
    return this.#event('cleared', { droppedMs })
  }

  transfer(update: TransferUpdate): string {
    return this.#event('transfer', update)
  }

  error(code: BotErrorCode, message: string): string {
    return this.#event('error', { code, message, fatal: false })
  }

  stop(reason: StopReason): string {
    const { accountId, callId } = this.#facts.spec
    return this.#event('stop', { accountSid: accountId, callSid: callId, reason })
  }

  read(line: string): BotCommand {
    return readStream(line)
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      event,
      sequenceNumber: String(this.#sequence),
      streamSid: this.#facts.streamId,
      [event]: body,
    })
  }
}
