import type { Digit } from '../base/frame.js'
import type { TransferRequest } from './dialects/wire-format.js'

/** Statistics of one call's bot, stored with the call. Times are ms. */
export interface BotStats {
  /** From live media to the bot's first audio. */
  readonly firstAudioMs: number | null
  /** From the caller's last audio to the first audio of each reply. */
  readonly replyMs: readonly number[]
  /** Times the bot's audio arrived too late to continue smoothly. */
  readonly underruns: number
  /** Caller's audio that the bot did not read in time. */
  readonly droppedInMs: number
  /** Bot's audio beyond the bound of its queue. */
  readonly droppedOutMs: number
  /** Late audio of a real-time bot that was skipped to catch up. */
  readonly trimmedMs: number
  readonly marks: number
  readonly errors: number
  /** Close code of the connection, or null while it never closed. */
  readonly closeCode: number | null
}

export type BotEvent =
  | {
      readonly type: 'finished'
      readonly why: 'agent_hangup' | 'max_duration' | 'bot_disconnected'
      /** Human-readable cause when the bot was lost. */
      readonly message?: string
    }
  | { readonly type: 'bot_stats'; readonly stats: BotStats }
  | { readonly type: 'transfer_requested'; readonly request: TransferRequest }
  /** The person to whom the bot presents its caller takes the call, or declines it. */
  | { readonly type: 'transfer_decided'; readonly accepted: boolean }
  | { readonly type: 'dtmf'; readonly digit: Digit; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'bot'
      readonly code: string
      readonly message: string
      readonly atMs: number
    }
