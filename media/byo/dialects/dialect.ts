import type { Digit, DtmfTiming } from '../../base/frame.js'
import type { CloseReason } from '../../session/endpoint.js'
import type { BotSpec } from '../bot-spec.js'

/** What went wrong, as the native protocol names it. */
export type BotErrorCode =
  | 'bad_json'
  | 'bad_frame'
  | 'bad_audio'
  | 'buffer_full'
  | 'transfer_failed'
  | 'rate_limited'

export type StopReason =
  | 'caller_hangup'
  | 'bot_hangup'
  | 'transferred'
  | 'max_duration'
  | 'error'
  | 'shutdown'

/** A bot asks to hand the call to a person. */
export interface TransferRequest {
  readonly id: string
  /** E.164 or a SIP URI. */
  readonly destination: string | null
  readonly destinationId: string | null
  readonly handoff: 'cold' | 'warm'
  readonly note: string | null
  readonly reason: string | null
}

/** What became of it so far. */
export interface TransferUpdate {
  readonly id: string
  readonly status: 'accepted' | 'rejected' | 'ringing' | 'answered' | 'completed' | 'failed'
  readonly code?: string
  readonly message?: string
}

/** What a bot wants, whatever its dialect calls it. */
export type BotCommand =
  | {
      readonly type: 'play'
      readonly audio: Uint8Array
      /** Of this sound alone; null is the rate agreed. */
      readonly rate: number | null
      /** Told when it was played; null for sound without a name. */
      readonly id: string | null
      /** Instead of what waits, not after it. */
      readonly replaces?: true
    }
  | { readonly type: 'mark'; readonly name: string }
  | { readonly type: 'clear' }
  | { readonly type: 'forget_marks' }
  /** Keys, with `w` for half a second. */
  | { readonly type: 'dtmf'; readonly keys: string; readonly timing?: DtmfTiming }
  | { readonly type: 'transfer'; readonly request: TransferRequest }
  /** `drain`: play what waits first. */
  | { readonly type: 'hangup'; readonly drain: boolean }
  /** The bot cannot go on: the call is lost to it. */
  | { readonly type: 'give_up'; readonly message: string }
  | { readonly type: 'nothing' }
  | {
      readonly type: 'fault'
      readonly code: BotErrorCode
      readonly message: string
      /** An event that nobody knows, which costs the bot nothing. */
      readonly harmless?: true
    }

/** What a dialect writes its messages from. */
export interface StreamInfo {
  readonly spec: BotSpec
  /** A UUID. */
  readonly streamId: string
  /** Unix ms of the beginning of the stream. */
  readonly startedAt: number
}

/** Text, or a binary message. */
export type BotMessage = string | Buffer

/** Binary messages are sound and nothing else. */
export const NO_HEADER = Buffer.alloc(0)

/**
 * One wire format: what is said and how what comes is to be read. Knows no socket and no clock. A
 * message that a dialect has not is null: nothing is sent then.
 */
export interface Dialect {
  /**
   * The caller's audio goes as binary messages behind these bytes, and `media` is never asked; null:
   * as text.
   */
  readonly audioHeader: Buffer | null
  /** Frames of 20 ms in one message. */
  readonly framesPerMessage: number
  /** Sent at once, in this order, before anything else. `sipCallId` is the Call-ID of the call's leg. */
  opening(sipCallId: string | null): readonly BotMessage[]
  /** `payload` is base64; `atMs` its beginning since the start of the stream. */
  media(payload: string, atMs: number): string
  dtmf(digit: Digit, durationMs: number): BotMessage | null
  markAck(name: string, how: 'played' | 'cleared'): string | null
  /** A sound with an id was played. */
  playedAck(id: string): string | null
  clearAck(droppedMs: number): string | null
  transfer(update: TransferUpdate): string | null
  error(code: BotErrorCode, message: string): string | null
  stop(reason: StopReason): BotMessage | null
  readText(text: string): BotCommand
  /** A binary message, where it is more than sound; absent: it is sound as it was agreed. */
  readBinary?(message: Buffer): BotCommand
}

/** What a bot is told when the call was closed. */
export function stopReasonOf(why: CloseReason): StopReason {
  switch (why) {
    case 'hangup':
      return 'caller_hangup'
    case 'api_hangup':
      return 'bot_hangup'
    case 'shutdown':
      return 'shutdown'
    case 'media_timeout':
    case 'error':
      return 'error'
  }
}
