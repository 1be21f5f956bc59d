import type { DetectorEvent } from '../detect/events.js'
import type { Digit } from '../frame.js'
import type { AnswerVerdict } from './answer.js'
import type { TimedWord } from './spec.js'

export type TurnId = number

/** One speaker's stretch of talk. Times are ms of session time (0 = media live). */
export interface Turn {
  readonly id: TurnId
  readonly speaker: 'caller' | 'agent' | 'human'
  /** What was recognised, or what the agent was going to say. */
  readonly text: string
  /** What was really heard: for a cut agent turn, the words whose audio was sent. */
  readonly heardText: string
  readonly language: string
  readonly startMs: number
  readonly endMs: number
  /** Session ms at which the caller's interruption stopped the agent. */
  readonly cutAtMs?: number
  readonly words: readonly TimedWord[] | null
}

/** Where the time of one agent reply went. Absolute session ms; null where a stage did not happen. */
export interface TurnTrace {
  readonly turnId: TurnId
  /** Last voiced sample of the caller's speech. */
  readonly speechEndMs: number
  readonly vadStopMs: number | null
  readonly sttFinalMs: number | null
  /** The end of turn was decided and the model asked. */
  readonly decidedMs: number
  readonly modelFirstTokenMs: number | null
  readonly firstSentenceMs: number | null
  readonly ttsFirstAudioMs: number | null
  /** First packet of the reply with sound left. */
  readonly firstPacketMs: number | null
}

/** What a conversation reports, in order. */
export type ConversationEvent =
  | { readonly type: 'turn'; readonly turn: Turn }
  /** The caller stopped the agent; the agent's turn follows with `cutAtMs`. */
  | { readonly type: 'interrupted'; readonly turnId: TurnId; readonly atMs: number }
  /** Paused for a sound that turned out to be no interruption. */
  | { readonly type: 'resumed'; readonly turnId: TurnId; readonly atMs: number; readonly pausedMs: number }
  | { readonly type: 'trace'; readonly trace: TurnTrace }
  /** Something other than speech was heard of the far side. */
  | { readonly type: 'detected'; readonly event: DetectorEvent }
  | { readonly type: 'dtmf'; readonly digit: Digit; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'speech_to_text' | 'text_to_speech' | 'language_model'
      readonly code: string
      readonly message: string
      readonly atMs: number
    }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly arguments: Readonly<Record<string, unknown>>
      readonly result: string
      readonly atMs: number
    }
  /** Who took a call that we made; once more when it turns out to be a machine. */
  | ({ readonly type: 'answered_by'; readonly atMs: number } & AnswerVerdict)
  /** The conversation is over (its last words were sent): hang up. */
  | {
      readonly type: 'finished'
      readonly why: 'agent_hangup' | 'max_duration' | 'silence' | 'voicemail' | 'provider_failure'
    }
