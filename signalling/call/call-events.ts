import type { AnswerVerdict } from '../../media/agent/answering-machine/answering-machine-detector.js'
import type { Usage } from '../../media/agent/conversation/usage-meter.js'
import type { Turn, TurnRecord, TurnTrace } from '../../media/agent/conversation-events.js'
import type { BotStats } from '../../media/byo/bot-event.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import type { RecordingFile } from '../../workers/channel/protocol.js'
import type { Ending } from './ending.js'

export type CallId = string

/**
 * All that happens on a call, in order. `seq` grows by one per call; `at` is Unix ms.
 * The control plane stores each with the state change it causes, in one transaction.
 */
export type CallEvent = { readonly callId: CallId; readonly seq: number; readonly at: number } & (
  | { readonly type: 'dialing'; readonly sipCallId: string }
  | { readonly type: 'ringing'; readonly sip: number }
  | { readonly type: 'answered' }
  | { readonly type: 'turn'; readonly turn: Turn }
  | { readonly type: 'trace'; readonly trace: TurnTrace }
  /** An utterance of the agent is over, heard or not; never of a bot's. */
  | { readonly type: 'turn_record'; readonly record: TurnRecord }
  /** What the agent's conversation used of its vendors; once, before `ended`. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'interrupted'; readonly turnId: number; readonly atMs: number }
  | { readonly type: 'resumed'; readonly turnId: number; readonly atMs: number; readonly pausedMs: number }
  /** Who took the call; once more when it turns out to be a machine. */
  | ({ readonly type: 'answered_by'; readonly atMs: number } & AnswerVerdict)
  | { readonly type: 'dtmf'; readonly digit: string; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'speech_to_text' | 'text_to_speech' | 'language_model' | 'recording' | 'media' | 'bot'
      readonly code: string
      readonly message: string
      /** Which vendor, and which one took over; absent where it is not known, or nobody did. */
      readonly vendor?: string
      readonly instead?: string
      readonly atMs: number
    }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly arguments: Readonly<Record<string, unknown>>
      readonly result: string
      readonly atMs: number
    }
  /** What the customer's bot did on the call; once, before `ended`. */
  | { readonly type: 'bot_stats'; readonly stats: BotStats }
  /** Something other than speech was heard of the far side. */
  | { readonly type: 'detected'; readonly event: DetectorEvent }
  | { readonly type: 'held'; readonly on: boolean }
  /** Last event of every call, exactly once. */
  | {
      readonly type: 'ended'
      readonly ending: Ending
      readonly rtp: RtpStats | null
      readonly recording: RecordingFile | null
    }
)
