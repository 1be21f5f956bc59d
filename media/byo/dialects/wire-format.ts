import type { Digit, DtmfTiming } from '../../base/frame.js'
import type { CloseReason } from '../../session/endpoint.js'
import type { FrameCoder } from '../audio/frame-coder.js'
import type { BotFormat, BotSpec } from '../bot-spec.js'

/** Error codes of the native protocol. */
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

/** A bot's request to transfer the call to a person. */
export interface TransferRequest {
  readonly id: string
  /** E.164 number or SIP URI. */
  readonly destination: string | null
  readonly destinationId: string | null
  readonly handoff: 'cold' | 'warm'
  /** With `cold`: connects the caller as soon as the telephone is answered. Null leaves that to the agent's settings. */
  readonly blind: boolean | null
  readonly note: string | null
  readonly reason: string | null
}

/** Progress of a transfer. */
export interface TransferUpdate {
  readonly id: string
  readonly status: 'accepted' | 'rejected' | 'ringing' | 'answered' | 'completed' | 'failed'
  /** How the person is asked; absent before a transfer is accepted. */
  readonly mode?: 'blind' | 'screened' | 'consult'
  readonly code?: string
  readonly message?: string
}

/** A bot's command, independent of its dialect. */
export type BotCommand =
  | {
      readonly type: 'play'
      readonly audio: Uint8Array
      /** Sample rate (Hz) of this audio alone; null stands for the agreed rate. */
      readonly rate: number | null
      /** Encoding of this audio alone; absent for the agreed one. */
      readonly format?: BotFormat
      /** Id that is acknowledged when the audio was played, or null. */
      readonly id: string | null
      /** Replaces the queued audio instead of following it. */
      readonly replaces?: true
    }
  | { readonly type: 'mark'; readonly name: string }
  | { readonly type: 'clear' }
  | { readonly type: 'forget_marks' }
  /** DTMF keys; `w` is a pause of 500 ms. */
  | { readonly type: 'dtmf'; readonly keys: string; readonly timing?: DtmfTiming }
  | { readonly type: 'transfer'; readonly request: TransferRequest }
  /** The decision of the person to whom the bot presents its caller. */
  | { readonly type: 'transfer_decision'; readonly id: string; readonly accepted: boolean }
  /** A bot that is lost later is dialled again with this token; null takes an earlier one back. */
  | { readonly type: 'resume'; readonly token: string | null }
  /** With `drain`, the queued audio is played first. */
  | { readonly type: 'hangup'; readonly drain: boolean }
  /** The bot reports a fatal error: it is lost to the call. */
  | { readonly type: 'give_up'; readonly message: string }
  | { readonly type: 'nothing' }
  | {
      readonly type: 'fault'
      readonly code: BotErrorCode
      readonly message: string
      /** An unknown event, which has no consequence for the bot. */
      readonly harmless?: true
    }

/** Facts from which a dialect builds its messages. */
export interface StreamInfo {
  readonly spec: BotSpec
  /** A UUID. */
  readonly streamId: string
  /** Unix time (ms) of the start of the stream; not known before `opening`. */
  readonly startedAt: number
}

/** A text message, or a binary one. */
export type BotMessage = string | Buffer

/** Stands in a message for base64 that was decoded already. It is no base64 itself. */
export const DECODED = '*'

/** Header of dialects whose binary messages hold audio and nothing else. */
export const NO_HEADER = Buffer.alloc(0)

/**
 * One wire format: encodes messages to the bot and decodes messages from it. Uses no socket and no clock. A
 * method returns null when the dialect has no such message.
 */
export interface WireFormat {
  /** Header of binary audio messages; null when audio is sent as text, between `mediaHead` and `mediaTail`. */
  readonly audioHeader: Buffer | null
  /** Frames of 20 ms in one message. */
  readonly framesPerMessage: number
  /** Coder of the audio of both directions; absent when it is linear16, mu-law or A-law as `audio-format.ts` has them. */
  readonly coder?: FrameCoder | null
  /** Returns the messages that start the stream, in order. `sipCallId` is the Call-ID of the leg. */
  opening(sipCallId: string | null): readonly BotMessage[]
  /**
   * Begins an audio message: returns its text (ASCII) before the base64. `atMs` is the time of its first sample since the
   * start of the stream.
   */
  mediaHead?(atMs: number): string
  /** The text after the base64. */
  readonly mediaTail?: string
  dtmf(digit: Digit, durationMs: number): BotMessage | null
  markAck(name: string, how: 'played' | 'cleared'): string | null
  /** Acknowledges that the audio with this id was played. */
  playedAck(id: string): string | null
  clearAck(droppedMs: number): string | null
  transfer(update: TransferUpdate): string | null
  error(code: BotErrorCode, message: string): string | null
  stop(reason: StopReason): BotMessage | null
  /** Field whose value is base64 audio in the bot's text messages; absent when they hold none. */
  readonly audioField?: string
  /** `audio` is the decoded value of `audioField`, which then is `DECODED` in the text. */
  readText(text: string, audio?: Uint8Array): BotCommand
  /** Decodes a binary message; absent when binary messages are audio in the agreed format. */
  readBinary?(message: Buffer): BotCommand
}

/** Returns the stop reason for the bot when the call was closed. */
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
