import type { Digit } from '../../base/frame.js'
import {
  BAD_JSON,
  dtmfCommand,
  extensionCommand,
  markCommand,
  numberValue,
  objectField,
  parseMessage,
  playCommand,
  stringValue,
  unknownEvent,
} from './bot-message.js'
import type { BotCommand, Dialect, StreamInfo, TransferUpdate } from './dialect.js'

/*
 * Plivo's audio stream, and Vobiz, which is the same with a rate more. Counters are numbers,
 * timestamps strings of Unix milliseconds, `extra_headers` a string wherever it stands. There is no
 * message for the end: the socket closes.
 */

export function openPlivo(facts: StreamInfo): Dialect {
  return new Plivo(facts)
}

class Plivo implements Dialect {
  readonly audioHeader = null
  readonly framesPerMessage = 1
  readonly #facts: StreamInfo
  #sequence = -1
  #chunk = 0

  constructor(facts: StreamInfo) {
    this.#facts = facts
  }

  opening(): readonly string[] {
    const { spec, streamId } = this.#facts
    this.#sequence++
    return [
      JSON.stringify({
        sequenceNumber: this.#sequence,
        event: 'start',
        start: {
          callId: spec.callId,
          streamId,
          accountId: spec.accountId,
          tracks: ['inbound'],
          mediaFormat: {
            encoding: spec.format === 'mulaw' ? 'audio/x-mulaw' : 'audio/x-l16',
            sampleRate: spec.sampleRate,
          },
        },
        extra_headers: Object.entries(spec.customParameters)
          .map(([name, value]) => `${name}=${value}`)
          .join(';'),
      }),
    ]
  }

  media(payload: string, atMs: number): string {
    this.#sequence++
    this.#chunk++
    return `{"sequenceNumber":${this.#sequence},"streamId":"${this.#facts.streamId}","event":"media","media":{"track":"inbound","timestamp":"${this.#facts.startedAt + atMs}","chunk":${this.#chunk},"payload":"${payload}"},"extra_headers":"{}"}`
  }

  dtmf(digit: Digit): string {
    const timestamp = String(this.#facts.startedAt + this.#chunk * 20)
    return this.#event('dtmf', { dtmf: { track: 'inbound', digit, timestamp }, extra_headers: '{}' })
  }

  /** Only what really played is told. */
  markAck(name: string, how: 'played' | 'cleared'): string | null {
    return how === 'played' ? this.#event('playedStream', { name }) : null
  }

  playedAck(): null {
    return null
  }

  clearAck(): string {
    return this.#event('clearedAudio', {})
  }

  transfer(update: TransferUpdate): string {
    return this.#event('transfer', { transfer: update })
  }

  error(): null {
    return null
  }

  stop(): null {
    return null
  }

  readText(line: string): BotCommand {
    const message = parseMessage(line)
    if (message === null) return BAD_JSON
    const event = stringValue(message.event) ?? ''
    switch (event) {
      case 'playAudio': {
        const media = objectField(message, 'media')
        return playCommand(media.payload, { rate: numberValue(media.sampleRate) })
      }
      case 'checkpoint':
        return markCommand(message.name)
      case 'clearAudio':
        return { type: 'clear' }
      case 'sendDTMF':
        return dtmfCommand({ digits: message.dtmf })
      // Vobiz: the bot ends the stream.
      case 'stop':
        return { type: 'hangup', drain: true }
      default:
        return extensionCommand(event, message) ?? unknownEvent(event)
    }
  }

  #event(event: string, body: object): string {
    this.#sequence++
    return JSON.stringify({
      sequenceNumber: this.#sequence,
      streamId: this.#facts.streamId,
      event,
      ...body,
    })
  }
}
