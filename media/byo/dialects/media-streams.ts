import type { Digit } from '../../base/frame.js'
import { readMediaStreams } from './bot-message.js'
import type {
  BotCommand,
  BotErrorCode,
  BotMessage,
  StopReason,
  StreamInfo,
  TransferUpdate,
  WireFormat,
} from './wire-format.js'

/** Field names of one dialect of the family. */
export interface FieldNames {
  readonly sequence: 'sequenceNumber' | 'sequence_number'
  readonly stream: 'streamSid' | 'stream_sid' | 'stream_id'
}

/**
 * The Twilio Media Streams family: JSON text, base64 audio, counters as strings, each event under its own
 * name beside the stream id. Returns null for messages that only one dialect has.
 */
export abstract class MediaStreamsDialect implements WireFormat {
  readonly audioHeader = null
  readonly framesPerMessage: number = 1
  readonly mediaTail = '"}}'
  readonly audioField = 'payload'
  /** JSON of the `media` object before its counters. */
  protected readonly track: string = '"track":"inbound",'
  protected readonly stream: StreamInfo
  readonly #names: FieldNames
  readonly #streamId: string
  #sequence = 0
  #chunk = 0

  constructor(stream: StreamInfo, names: FieldNames, streamId: string) {
    this.stream = stream
    this.#names = names
    this.#streamId = streamId
  }

  abstract opening(sipCallId: string | null): readonly BotMessage[]
  abstract dtmf(digit: Digit, durationMs: number): string
  abstract stop(reason: StopReason): string

  mediaHead(atMs: number): string {
    const { sequence, stream } = this.#names
    this.#sequence++
    this.#chunk++
    return `{"event":"media","${sequence}":"${this.#sequence}","${stream}":"${this.#streamId}","media":{${this.track}"chunk":"${this.#chunk}","timestamp":"${atMs}","payload":"`
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

  readText(text: string, audio?: Uint8Array): BotCommand {
    return readMediaStreams(text, audio)
  }

  /** Audio messages sent so far. */
  protected get chunks(): number {
    return this.#chunk
  }

  /** Builds the next message: `body` under the name of the event, `more` beside it. */
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
