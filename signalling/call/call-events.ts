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
 * The events of a call, in order. `seq` increases by one per call; `at` is Unix time (ms). The control plane
 * stores each event with the state change it causes, in one transaction.
 */
export type CallEvent = { readonly callId: CallId; readonly seq: number; readonly at: number } & (
  | { readonly type: 'dialing'; readonly sipCallId: string }
  | { readonly type: 'ringing'; readonly sip: number }
  | { readonly type: 'answered' }
  | { readonly type: 'turn'; readonly turn: Turn }
  | { readonly type: 'trace'; readonly trace: TurnTrace }
  /** An utterance of the agent ended, played or not; never sent for bots. */
  | { readonly type: 'turn_record'; readonly record: TurnRecord }
  /** What the agent's conversation used of its vendors; once, before `ended`. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'interrupted'; readonly turnId: number; readonly atMs: number }
  | { readonly type: 'resumed'; readonly turnId: number; readonly atMs: number; readonly pausedMs: number }
  /** What answered the call; sent again when it turns out to be a machine. */
  | ({ readonly type: 'answered_by'; readonly atMs: number } & AnswerVerdict)
  | { readonly type: 'dtmf'; readonly digit: string; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'speech_to_text' | 'text_to_speech' | 'language_model' | 'recording' | 'media' | 'bot'
      readonly code: string
      readonly message: string
      /** The vendor that failed and its replacement; absent when unknown or when there is no replacement. */
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
  /** Statistics of the customer's bot; once, before `ended`. */
  | { readonly type: 'bot_stats'; readonly stats: BotStats }
  /** A sound other than speech was detected on the far side. */
  | { readonly type: 'detected'; readonly event: DetectorEvent }
  | { readonly type: 'held'; readonly on: boolean }
  /** The last event of every call, exactly once. */
  | {
      readonly type: 'ended'
      readonly ending: Ending
      readonly rtp: RtpStats | null
      readonly recording: RecordingFile | null
    }
)

/** Returns the only event of a call that ended before it began; `at` is Unix time (ms). */
export function callNeverBegan(
  callId: CallId,
  ending: Ending,
  at: number,
): CallEvent & { readonly type: 'ended' } {
  return { callId, seq: 1, at, type: 'ended', ending, rtp: null, recording: null }
}
