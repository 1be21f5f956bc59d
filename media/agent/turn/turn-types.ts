import type { TimedWord } from '../agent-spec.js'
import type { TurnId } from '../conversation-events.js'

/*
 * The vocabulary of the turn machine (turn.ts): what it knows, what it is told, what it orders.
 * Every time is session ms and comes in with the input; the machine has no clock.
 */

export type Phase =
  /** Media is not live yet. */
  | 'opening'
  /** The caller has the floor and is silent. */
  | 'listening'
  | 'callerSpeaking'
  /** The caller stopped; the recogniser owes the text. */
  | 'waitingFinal'
  /** The agent has the floor, none of its sound was sent. */
  | 'thinking'
  | 'speaking'
  /** The agent's sound is held at a sample until the caller's sound proves to be an interruption or not. */
  | 'paused'
  /** The last line is being spoken; nothing interrupts it. */
  | 'ending'
  | 'ended'

export type FinishWhy = 'agent_hangup' | 'max_duration' | 'silence' | 'voicemail' | 'provider_failure'

/** Lines that do not come from the model. */
export type Line =
  | 'opening'
  | 'hangup'
  | { readonly nudge: number }
  /** Trouble with a provider; one moment, please. */
  | 'trouble'
  /** A tool takes its time; and it still does. */
  | 'wait'
  | 'stillWaiting'
  /** Could you say that again? */
  | 'repeat'
  /** Speech is not understood here; digits are. */
  | 'digitsOnly'
  /** Technical trouble; goodbye. */
  | 'goodbye'

/** What a caller said so far in one turn, still growing. */
export interface CallerTurn {
  readonly id: TurnId
  readonly startMs: number
  /** Last voiced sample. */
  readonly endMs: number
  /** The detector hears the caller now. */
  readonly voiced: boolean
  /** Final texts, joined. */
  readonly text: string
  readonly words: readonly TimedWord[]
  /** Text after the last final one, not yet final. */
  readonly partial: string
  /** Utterances that ended and whose final text has not come. */
  readonly owed: number
  /** A final text came before the detector heard the end. */
  readonly early: boolean
  /** More is expected, and being waited for. */
  readonly held: boolean
  /** A model's judgement of the sound up to `endMs`: how likely the caller has finished, 0 to 1. */
  readonly judged: { readonly endMs: number; readonly likely: number } | null
}

/** The agent's utterance in the making or on the wire. */
export interface Reply {
  readonly id: TurnId
  readonly kind: 'reply' | 'line' | 'last'
  readonly opening: boolean
  readonly interruptible: boolean
  /** Its first sample was sent. */
  readonly audible: boolean
  /** At least one sentence was handed to synthesis. */
  readonly said: boolean
  readonly pausedAtMs: number | null
  readonly askedAtMs: number
  readonly attempt: number
  /** When the model first failed, in this round. */
  readonly failedSinceMs: number | null
  readonly round: number
  readonly modelBusy: boolean
  /** Of the running attempt; null until its first token. */
  readonly lastTokenMs: number | null
  readonly apologised: boolean
  /** Tools of the last answer run; the model is asked again when they are done. */
  readonly toolsRun: boolean
  /** Sound is being sent, or was handed to synthesis and comes. */
  readonly sounding: boolean
  /** Lines said to bridge the wait for tools, one after the other. */
  readonly waits: number
  /** The floor watchdog fired this often. */
  readonly stalls: number
  /** Set when the call ends after this utterance. */
  readonly why: FinishWhy | null
}

/** A model asked before the caller's turn is decided. */
export interface Speculation {
  /** The caller's turn. */
  readonly caller: TurnId
  /** What it answers, in plain words. */
  readonly words: string
  /** False: it was used or thrown away, and there is no other for the turn. */
  readonly live: boolean
}

export interface TurnState {
  readonly phase: Phase
  readonly nextTurn: TurnId
  /** Awaited, speaking, or overlapping the agent. */
  readonly caller: CallerTurn | null
  /** The caller's turn the reply answers; final once the reply is audible, merged into the next before. */
  readonly answering: CallerTurn | null
  readonly reply: Reply | null
  readonly speculation: Speculation | null
  /** Nudges spoken since the caller last said something. */
  readonly nudged: number
  readonly digits: string
  readonly digitsOnlySaid: boolean
  /** Replies in a row that a model failure cut short. */
  readonly brokenReplies: number
  readonly deafness: number
  /** The caller was asked to say it again, and no text has come since. */
  readonly repeated: boolean
  /** How long this caller pauses in the middle of what he says, in ms; null until it was heard. */
  readonly pauseMs: number | null
  /** The same after words that seemed complete; half as long after every turn that was. */
  readonly cutMs: number
  /** A partial text used as final when the recogniser was late: its final must not count twice. */
  readonly usedPartial: string | null
  /** Sound without words took the floor from this: when no words follow, the agent speaks again. */
  readonly cutBySound: 'opening' | 'other' | null
  /** Sound without words took the floor for nothing: until words come, only words take it again. */
  readonly soundMistrusted: boolean
  /** When the caller's present sound took the floor, or words of the caller last came. */
  readonly callerProvedMs: number
  /** Everything is said; the call ends when the last samples had time to be heard. */
  readonly leaving: FinishWhy | null
  /** Inputs that the state did not expect. */
  readonly unexpected: number
}

export type TimerName =
  | 'limit'
  | 'digits'
  | 'final'
  /** The caller's sound lasts, and no words come. */
  | 'wordless'
  | 'nudge'
  | 'modelFirst'
  | 'modelStall'
  /** The next line while tools run. */
  | 'tools'
  | 'retry'
  | 'floor'
  | 'pause'
  | 'resume'
  | 'ending'
  | 'tail'

/** Owner of the timers that belong to the call and to no turn. */
export const CALL: TurnId = 0

export type TurnInput = { readonly at: number } & (
  | { readonly on: 'start'; readonly opening: boolean }
  /** The detector heard the caller begin, at `fromMs`. */
  | { readonly on: 'onset'; readonly fromMs: number }
  /** Every frame while paused: voiced time of the sound so far, and how long it has been quiet. */
  | { readonly on: 'voice'; readonly voicedMs: number; readonly quietMs: number }
  | { readonly on: 'offset'; readonly lastVoicedMs: number }
  /** A model judged from the sound up to `lastVoicedMs` how likely the caller has finished, 0 to 1. */
  | { readonly on: 'judged'; readonly lastVoicedMs: number; readonly likely: number }
  | { readonly on: 'partial'; readonly text: string }
  | { readonly on: 'final'; readonly text: string; readonly words: readonly TimedWord[] | null }
  /** The recogniser takes the words so far for complete, and is not sure yet; or no longer does. */
  | { readonly on: 'eager'; readonly complete: boolean }
  /** The model would be told something else now than a moment ago: a tool's late result. */
  | { readonly on: 'learnt' }
  /** What was asked before the decision cannot be answered. */
  | { readonly on: 'speculationFailed' }
  | { readonly on: 'deaf'; readonly code: string; readonly message: string }
  | { readonly on: 'digit'; readonly digit: string }
  | { readonly on: 'token'; readonly turn: TurnId }
  /** A sentence of the model went to synthesis. */
  | { readonly on: 'sentence'; readonly turn: TurnId }
  /** The answer is complete and its tools run. `bridged`: words for the wait were given to synthesis. */
  | { readonly on: 'toolsRun'; readonly turn: TurnId; readonly bridged: boolean }
  /** `again`: tool results wait for the model. `end`: the model ended the call. */
  | { readonly on: 'modelDone'; readonly turn: TurnId; readonly next: 'nothing' | 'again' | 'end' }
  | {
      readonly on: 'modelFailed'
      readonly turn: TurnId
      readonly code: string
      readonly message: string
    }
  | { readonly on: 'firstSample'; readonly turn: TurnId }
  | { readonly on: 'drained'; readonly turn: TurnId }
  /** The utterance ran out of sound before its end, or has some again. Not told while paused. */
  | { readonly on: 'flow'; readonly turn: TurnId; readonly sounding: boolean }
  /** Nothing can be spoken any more, by any synthesis. */
  | { readonly on: 'mute'; readonly turn: TurnId }
  | { readonly on: 'timer'; readonly turn: TurnId; readonly name: TimerName }
  /** No person is there: a recorder, or a fax machine. */
  | { readonly on: 'machine'; readonly why: FinishWhy }
  /** The far side or the operator ended the call. */
  | { readonly on: 'close' }
)

export type TurnEffect =
  | {
      readonly do: 'startTimer'
      readonly turn: TurnId
      readonly name: TimerName
      readonly ms: number
    }
  | { readonly do: 'cancelTimer'; readonly turn: TurnId; readonly name: TimerName }
  | { readonly do: 'cancelTimers'; readonly turn: TurnId }
  | { readonly do: 'pause'; readonly turn: TurnId }
  /** Goes on from the same sample. `pausedAtMs` null: nothing was audible, nothing to report. */
  | { readonly do: 'resume'; readonly turn: TurnId; readonly pausedAtMs: number | null }
  /** The caller stopped the agent: discard what was not sent, keep what was heard. */
  | { readonly do: 'interrupt'; readonly turn: TurnId; readonly atMs: number }
  /** Stop speaking for a reason that is not the caller's; keep what was heard. */
  | { readonly do: 'cut'; readonly turn: TurnId }
  /** Nothing of it was sent: forget it. */
  | { readonly do: 'drop'; readonly turn: TurnId }
  /**
   * Ask the model, for the caller's words and the tool results of earlier rounds. `caller` null: its
   * words are committed already.
   */
  | {
      readonly do: 'ask'
      readonly turn: TurnId
      readonly caller: CallerTurn | null
      readonly attempt: number
      readonly round: number
    }
  /** Ask the model what `ask` would ask. Nothing of it is heard, no tool of it runs. */
  | { readonly do: 'speculate'; readonly caller: CallerTurn }
  /** It was in vain. */
  | { readonly do: 'dropSpeculation' }
  /** As `ask`, at first, with the answer that was begun already. */
  | { readonly do: 'keepSpeculation'; readonly turn: TurnId; readonly caller: CallerTurn }
  | { readonly do: 'cancelModel'; readonly turn: TurnId }
  | { readonly do: 'say'; readonly turn: TurnId; readonly line: Line }
  /** Nothing follows the sentences given so far; `drained` comes when the last sample was sent. */
  | { readonly do: 'finishSpeech'; readonly turn: TurnId }
  /** The caller's turn is complete. `forModel` false: heard beside the conversation (a backchannel). */
  | { readonly do: 'commitCaller'; readonly caller: CallerTurn; readonly forModel: boolean }
  | { readonly do: 'commitAgent'; readonly turn: TurnId }
  /** The reply's first sample was sent. */
  | { readonly do: 'trace'; readonly turn: TurnId }
  | {
      readonly do: 'trouble'
      readonly part: 'speech_to_text' | 'language_model'
      readonly code: string
      readonly message: string
      /** The model is asked once more for the same reply. */
      readonly again?: boolean
    }
  | { readonly do: 'reopenEars' }
  /** What the detector takes for the caller's speech is noise. */
  | { readonly do: 'learnNoise' }
  | { readonly do: 'finish'; readonly why: FinishWhy }
  /** Everything that belongs to the conversation ends: timers, jobs, sound. */
  | { readonly do: 'stop' }

export interface Step {
  readonly next: TurnState
  readonly effects: readonly TurnEffect[]
}
