import type { Digit } from '../base/frame.js'
import type { DetectorEvent } from '../detect/events.js'
import type { TimedWord } from './agent-spec.js'
import type { AnswerVerdict } from './answering-machine/answering-machine-detector.js'
import type { Usage } from './conversation/usage-meter.js'

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

/**
 * What the caller waited for before one reply, told when the wait is over (`TurnRecord` says the rest when
 * the reply is). Absolute session ms; null where a stage did not happen.
 */
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

/**
 * One utterance of the agent as an account: where its time went and what it used, without a word of it.
 * Absolute session ms; null where a stage did not happen.
 */
export interface TurnRecord {
  readonly turnId: TurnId
  /** An answer of the model, or a line said without it. */
  readonly kind: 'reply' | 'line'
  /** Said to the end, stopped by the caller, stopped for another reason, or never heard. */
  readonly ending: 'said' | 'interrupted' | 'cut' | 'unheard'
  /**
   * A model was asked before the turn was decided: its answer was used, or thrown away. Null: none was, as
   * far as this utterance is concerned.
   */
  readonly speculation: 'kept' | 'dropped' | null
  /** Failures of vendors since the utterance before. */
  readonly troubles: number
  /** First and last voiced sample of the words it answers; null for a line nobody asked for. */
  readonly onsetMs: number | null
  readonly offsetMs: number | null
  readonly vadStopMs: number | null
  readonly sttFinalMs: number | null
  /** The end of the caller's turn was decided, or the line began. */
  readonly decidedMs: number
  /** Before `decidedMs` when a speculation was kept. */
  readonly modelRequestMs: number | null
  readonly modelFirstTokenMs: number | null
  readonly firstSentenceMs: number | null
  /** Null when all of it had been synthesised before. */
  readonly ttsRequestMs: number | null
  readonly ttsFirstAudioMs: number | null
  readonly firstPacketMs: number | null
  /** The caller's sound that stopped it began. */
  readonly interruptedMs: number | null
  readonly endMs: number
  /** Since the utterance before. */
  readonly usage: Usage
}

/** What a conversation reports, in order. */
export type ConversationEvent =
  | { readonly type: 'turn'; readonly turn: Turn }
  /** The caller stopped the agent; the agent's turn follows with `cutAtMs`. */
  | { readonly type: 'interrupted'; readonly turnId: TurnId; readonly atMs: number }
  /** Paused for a sound that turned out to be no interruption. */
  | { readonly type: 'resumed'; readonly turnId: TurnId; readonly atMs: number; readonly pausedMs: number }
  | { readonly type: 'trace'; readonly trace: TurnTrace }
  /** An utterance of the agent is over, heard or not. */
  | { readonly type: 'turn_record'; readonly record: TurnRecord }
  /** What the whole conversation used; once, last. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** Something other than speech was heard of the far side. */
  | { readonly type: 'detected'; readonly event: DetectorEvent }
  | { readonly type: 'dtmf'; readonly digit: Digit; readonly atMs: number; readonly durationMs: number }
  | {
      readonly type: 'trouble'
      readonly part: 'speech_to_text' | 'text_to_speech' | 'language_model'
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
  /** Who took a call that we made; once more when it turns out to be a machine. */
  | ({ readonly type: 'answered_by'; readonly atMs: number } & AnswerVerdict)
  /** The conversation is over (its last words were sent): hang up. */
  | {
      readonly type: 'finished'
      readonly why: 'agent_hangup' | 'max_duration' | 'silence' | 'voicemail' | 'provider_failure'
    }
