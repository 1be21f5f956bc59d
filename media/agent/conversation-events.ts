import type { Digit } from '../base/frame.js'
import type { DetectorEvent } from '../detect/events.js'
import type { TimedWord } from './agent-spec.js'
import type { AnswerVerdict } from './answering-machine/answering-machine-detector.js'
import type { Usage } from './conversation/usage-meter.js'

export type TurnId = number

export type FinishReason =
  | 'agent_hangup'
  | 'max_duration'
  | 'silence'
  | 'voicemail'
  | 'provider_failure'
  /** The operator of the call asked for it. */
  | 'asked'

/** One speaker's turn. Times are session ms (0 = media live). */
export interface Turn {
  readonly id: TurnId
  readonly speaker: 'caller' | 'agent' | 'human'
  /** The recognised text, or the text that the agent intended to say. */
  readonly text: string
  /** The text that was heard. For an interrupted agent turn, the words whose audio was sent. */
  readonly heardText: string
  readonly language: string
  readonly startMs: number
  readonly endMs: number
  /** Session time (ms) at which the agent was stopped before the end: by the caller, or because the call ended. */
  readonly cutAtMs?: number
  readonly words: readonly TimedWord[] | null
}

/**
 * Latency of one reply, emitted when the reply becomes audible. `TurnRecord` adds the rest at the end of the
 * reply. All times are session ms; null means that the stage did not happen.
 */
export interface TurnTrace {
  readonly turnId: TurnId
  /** Last voiced sample of the caller's speech. */
  readonly speechEndMs: number
  readonly vadStopMs: number | null
  readonly sttFinalMs: number | null
  /** Time at which the end of the turn was decided and the model was asked. */
  readonly decidedMs: number
  readonly modelFirstTokenMs: number | null
  readonly firstSentenceMs: number | null
  readonly ttsFirstAudioMs: number | null
  /** First packet of the reply that carries audio. */
  readonly firstPacketMs: number | null
}

/**
 * Timing and usage of one agent utterance, without its words. All times are session ms; null means that the
 * stage did not happen.
 */
export interface TurnRecord {
  readonly turnId: TurnId
  /** `reply`: an answer of the model. `line`: a canned phrase. */
  readonly kind: 'reply' | 'line'
  /**
   * `said`: spoken to the end. `interrupted`: stopped by the caller. `cut`: stopped for another reason.
   * `unheard`: never audible.
   */
  readonly ending: 'said' | 'interrupted' | 'cut' | 'unheard'
  /**
   * Outcome of a speculative model request: its answer was used or discarded. Null when there was none for
   * this utterance.
   */
  readonly speculation: 'kept' | 'dropped' | null
  /** Provider failures since the previous utterance. */
  readonly troubles: number
  /**
   * First and last voiced sample of the caller's words that the utterance answers. Null for a phrase that
   * answers nothing.
   */
  readonly onsetMs: number | null
  readonly offsetMs: number | null
  readonly vadStopMs: number | null
  readonly sttFinalMs: number | null
  /** Time at which the end of the caller's turn was decided, or the phrase began. */
  readonly decidedMs: number
  /** Earlier than `decidedMs` when a speculative answer was used. */
  readonly modelRequestMs: number | null
  readonly modelFirstTokenMs: number | null
  readonly firstSentenceMs: number | null
  /** Null when all audio came from the phrase cache. */
  readonly ttsRequestMs: number | null
  readonly ttsFirstAudioMs: number | null
  readonly firstPacketMs: number | null
  /** Start of the caller's sound that interrupted the utterance. */
  readonly interruptedMs: number | null
  readonly endMs: number
  /** Vendor usage since the previous utterance. */
  readonly usage: Usage
}

/** A part of the call failed. */
export interface FailureEvent<Part extends string> {
  readonly type: 'trouble'
  readonly part: Part
  readonly code: string
  readonly message: string
  /** The failed vendor and its replacement. Absent when unknown or when there is no replacement. */
  readonly vendor?: string
  readonly instead?: string
  readonly atMs: number
}

/** An event of a conversation. A conversation reports its events in order. */
export type ConversationEvent =
  | { readonly type: 'turn'; readonly turn: Turn }
  /** The caller stopped the agent. The agent's turn follows with `cutAtMs`. */
  | { readonly type: 'interrupted'; readonly turnId: TurnId; readonly atMs: number }
  /** The agent paused for a sound that was no interruption, and went on. */
  | { readonly type: 'resumed'; readonly turnId: TurnId; readonly atMs: number; readonly pausedMs: number }
  | { readonly type: 'trace'; readonly trace: TurnTrace }
  /** An agent utterance is over, heard or not. */
  | { readonly type: 'turn_record'; readonly record: TurnRecord }
  /** Usage of the whole conversation. Emitted once, last. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** A sound of the far side other than speech was detected. */
  | { readonly type: 'detected'; readonly event: DetectorEvent }
  | { readonly type: 'dtmf'; readonly digit: Digit; readonly atMs: number; readonly durationMs: number }
  | FailureEvent<'speech_to_text' | 'text_to_speech' | 'language_model'>
  /** The agent received a note for its next reply. */
  | { readonly type: 'note'; readonly text: string; readonly atMs: number }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly arguments: Readonly<Record<string, unknown>>
      readonly result: string
      readonly atMs: number
    }
  /** Result of answering-machine detection on an outbound call. Emitted again when the result changes. */
  | ({ readonly type: 'answered_by'; readonly atMs: number } & AnswerVerdict)
  /** The conversation is over and its last words were sent. The receiver hangs up. */
  | {
      readonly type: 'finished'
      readonly why: FinishReason
    }
