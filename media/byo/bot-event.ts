import type { Digit } from '../base/frame.js'
import type { TransferRequest } from './dialects/dialect.js'

/** What one call's bot did, for its record. Times are ms. */
export interface BotStats {
  /** Media live to the bot's first sound. */
  readonly firstAudioMs: number | null
  /** The caller's last sound to the first sound of the bot's answer. */
  readonly replyMs: readonly number[]
  /** Times the bot's sound came too late to go on smoothly. */
  readonly underruns: number
  /** Sound of the caller that the bot did not take in time. */
  readonly droppedInMs: number
  /** Sound of the bot over the bound of its queue. */
  readonly droppedOutMs: number
  /** Late sound of a live bot left out to be on time again. */
  readonly trimmedMs: number
  readonly marks: number
  readonly errors: number
  /** Of the socket; null while it was never closed by the bot. */
  readonly closeCode: number | null
}

export type BotEvent =
  | {
      readonly type: 'finished'
      readonly why: 'agent_hangup' | 'max_duration' | 'bot_disconnected'
      /** What happened to a bot that was lost, for people. */
      readonly message?: string
    }
  | { readonly type: 'bot_stats'; readonly stats: BotStats }
  | { readonly type: 'transfer_requested'; readonly request: TransferRequest }
  | { readonly type: 'dtmf'; readonly digit: Digit; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'bot'
      readonly code: string
      readonly message: string
      readonly atMs: number
    }
