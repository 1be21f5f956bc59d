import type { Digit } from '../../base/frame.js'
import { readMediaStreams } from './bot-message.js'
import type {
  BotCommand,
  BotErrorCode,
  BotMessage,
  Dialect,
  StopReason,
  StreamInfo,
  TransferUpdate,
} from './dialect.js'

/** What a dialect of the family calls things. */
export interface FieldNames {
  readonly sequence: 'sequenceNumber' | 'sequence_number'
  readonly stream: 'streamSid' | 'stream_sid' | 'stream_id'
}

/**
 * The family of Twilio Media Streams: text of JSON, base64 sound, counters that are strings, each event
 * under its own name with the stream beside it. What no dialect of it has but one is null here.
 */
export abstract class MediaStreamsDialect implements Dialect {
  readonly audioHeader = null
  readonly framesPerMessage: number = 1
  /** Of `media`, before its counters. */
  protected readonly track: string = '"track":"inbound",'
  protected readonly facts: StreamInfo
  readonly #names: FieldNames
  readonly #streamId: string
  #sequence = 0
  #chunk = 0

  constructor(facts: StreamInfo, names: FieldNames, streamId: string) {
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

  markAck(name: string, _how: 'played' | 'cleared'): string {
    return this.event('mark', { name })
  }

  playedAck(_id: string): string | null {
    return null
  }

  clearAck(_droppedMs: number): string | null {
    return null
  }

  transfer(update: TransferUpdate): string {
    return this.event('transfer', update)
  }

  error(_code: BotErrorCode, _message: string): string | null {
    return null
  }

  readText(line: string): BotCommand {
    return readMediaStreams(line)
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
