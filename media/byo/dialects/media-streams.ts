import type { Digit } from '../../base/frame.js'
import { readStream } from './bot-message.js'
import type {
  BotCommand,
  BotErrorCode,
  BotMessage,
  Dialect,
  StopReason,
  StreamFacts,
  TransferUpdate,
} from './dialect.js'

/** What a dialect of the family calls things. */
export interface StreamNames {
  readonly sequence: 'sequenceNumber' | 'sequence_number'
  readonly stream: 'streamSid' | 'stream_sid' | 'stream_id'
}

/**
 * The family of Twilio Media Streams: text of JSON, base64 sound, counters that are strings, each event
 * under its own name with the stream beside it. What no dialect of it has but one is null here.
 */
export abstract class StreamDialect implements Dialect {
  readonly soundHead = null
  readonly framesPerMessage: number = 1
  /** Of `media`, before its counters. */
  protected readonly track: string = '"track":"inbound",'
  protected readonly facts: StreamFacts
  readonly #names: StreamNames
  readonly #streamId: string
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamFacts, names: StreamNames, streamId: string) {
    this.facts = facts
    this.#names = names
    this.#streamId = streamId
  }

  abstract opening(sipCallId: string | null): readonly BotMessage[]
  abstract dtmf(digit: Digit, durationMs: number): string
  abstract stop(reason: StopReason): string

  media(payload: string, atMs: number): string {
    const { sequence, stream } = this.#names
    this.#sequence++
    this.#chunk++
    return `{"event":"media","${sequence}":"${this.#sequence}","${stream}":"${this.#streamId}","media":{${this.track}"chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"${payload}"}}`
  }

  marked(name: string, _how: 'played' | 'cleared'): string {
    return this.event('mark', { name })
  }

  played(_id: string): string | null {
    return null
  }

  cleared(_droppedMs: number): string | null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return this.event('transfer', update)
  }

  error(_code: BotErrorCode, _message: string): string | null {
    return null
  }

  read(line: string): BotCommand {
    return readStream(line)
  }

  /** Messages with sound so far. */
  protected get chunks(): number {
    return this.#chunk
  }

  /** The next message, `body` under the event's name; `more` stands beside it. */
  protected event(event: string, body: object, more: object = {}): string {
    const { sequence, stream } = this.#names
    this.#sequence++
    return JSON.stringify({
      event,
      [sequence]: String(this.#sequence),
      [stream]: this.#streamId,
      ...more,
      [event]: body,
    })
  }
}
