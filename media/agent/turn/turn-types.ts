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

export type FinishReason = 'agent_hangup' | 'max_duration' | 'silence' | 'voicemail' | 'provider_failure'

/** Lines that do not come from the model. */
export type Phrase =
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
  readonly pendingFinals: number
  /** A final text came before the detector heard the end. */
  readonly finalBeforeEnd: boolean
  /** More is expected, and being waited for. */
  readonly awaitingMore: boolean
  /** A model's judgement of the sound up to `endMs`: how likely the caller has finished, 0 to 1. */
  readonly turnEstimate: { readonly endMs: number; readonly probability: number } | null
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
  readonly sentenceGiven: boolean
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
  readonly flowing: boolean
  /** Lines said to bridge the wait for tools, one after the other. */
  readonly waits: number
  /** The floor watchdog fired this often. */
  readonly silenceTimeouts: number
  /** Set when the call ends after this utterance. */
  readonly finishReason: FinishReason | null
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
  readonly recognitionFailures: number
  /** The caller was asked to say it again, and no text has come since. */
  readonly askedToRepeat: boolean
  /** How long this caller pauses in the middle of what he says, in ms; null until it was heard. */
  readonly pauseMs: number | null
  /** The same after words that seemed complete; half as long after every turn that was. */
  readonly earlyAnswerPauseMs: number
  /** A partial text used as final when the recogniser was late: its final must not count twice. */
  readonly usedPartial: string | null
  /** Sound without words took the floor from this: when no words follow, the agent speaks again. */
  readonly interruptedBySound: 'opening' | 'other' | null
  /** Sound without words took the floor for nothing: until words come, only words take it again. */
  readonly ignoreWordlessSound: boolean
  /** When the caller's present sound took the floor, or words of the caller last came. */
  readonly callerConfirmedMs: number
  /** Everything is said; the call ends when the last samples had time to be heard. */
  readonly finishReason: FinishReason | null
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

export type TurnInput = { readonly atMs: number } & (
  | { readonly type: 'start'; readonly opening: boolean }
  /** The detector heard the caller begin, at `fromMs`. */
  | { readonly type: 'onset'; readonly fromMs: number }
  /** Every frame while paused: voiced time of the sound so far, and how long it has been quiet. */
  | { readonly type: 'voice'; readonly voicedMs: number; readonly quietMs: number }
  | { readonly type: 'offset'; readonly lastVoicedMs: number }
  /** A model judged from the sound up to `lastVoicedMs` how likely the caller has finished, 0 to 1. */
  | { readonly type: 'judged'; readonly lastVoicedMs: number; readonly probability: number }
  | { readonly type: 'partial'; readonly text: string }
  | { readonly type: 'final'; readonly text: string; readonly words: readonly TimedWord[] | null }
  /** The recogniser takes the words so far for complete, and is not sure yet; or no longer does. */
  | { readonly type: 'eager'; readonly complete: boolean }
  /** The model would be told something else now than a moment ago: a tool's late result. */
  | { readonly type: 'learnt' }
  /** What was asked before the decision cannot be answered. */
  | { readonly type: 'speculationFailed' }
  | { readonly type: 'deaf'; readonly code: string; readonly message: string }
  | { readonly type: 'digit'; readonly digit: string }
  | { readonly type: 'token'; readonly turn: TurnId }
  /** A sentence of the model went to synthesis. */
  | { readonly type: 'sentence'; readonly turn: TurnId }
  /** The answer is complete and its tools run. `bridged`: words for the wait were given to synthesis. */
  | { readonly type: 'toolsRun'; readonly turn: TurnId; readonly fillerSpoken: boolean }
  /** `again`: tool results wait for the model. `end`: the model ended the call. */
  | { readonly type: 'modelDone'; readonly turn: TurnId; readonly next: 'nothing' | 'again' | 'end' }
  | {
      readonly type: 'modelFailed'
      readonly turn: TurnId
      readonly code: string
      readonly message: string
    }
  | { readonly type: 'firstSample'; readonly turn: TurnId }
  | { readonly type: 'drained'; readonly turn: TurnId }
  /** The utterance ran out of sound before its end, or has some again. Not told while paused. */
  | { readonly type: 'flow'; readonly turn: TurnId; readonly flowing: boolean }
  /** Nothing can be spoken any more, by any synthesis. */
  | { readonly type: 'mute'; readonly turn: TurnId }
  | { readonly type: 'timer'; readonly turn: TurnId; readonly name: TimerName }
  /** No person is there: a recorder, or a fax machine. */
  | { readonly type: 'machine'; readonly why: FinishReason }
  /** The far side or the operator ended the call. */
  | { readonly type: 'close' }
)

export type TurnEffect =
  | {
      readonly type: 'startTimer'
      readonly turn: TurnId
      readonly name: TimerName
      readonly ms: number
    }
  | { readonly type: 'cancelTimer'; readonly turn: TurnId; readonly name: TimerName }
  | { readonly type: 'cancelTimers'; readonly turn: TurnId }
  | { readonly type: 'pause'; readonly turn: TurnId }
  /** Goes on from the same sample. `pausedAtMs` null: nothing was audible, nothing to report. */
  | { readonly type: 'resume'; readonly turn: TurnId; readonly pausedAtMs: number | null }
  /** The caller stopped the agent: discard what was not sent, keep what was heard. */
  | { readonly type: 'interrupt'; readonly turn: TurnId; readonly atMs: number }
  /** Stop speaking for a reason that is not the caller's; keep what was heard. */
  | { readonly type: 'cut'; readonly turn: TurnId }
  /** Nothing of it was sent: forget it. */
  | { readonly type: 'drop'; readonly turn: TurnId }
  /**
   * Ask the model, for the caller's words and the tool results of earlier rounds. `caller` null: its
   * words are committed already.
   */
  | {
      readonly type: 'ask'
      readonly turn: TurnId
      readonly caller: CallerTurn | null
      readonly attempt: number
      readonly round: number
    }
  /** Ask the model what `ask` would ask. Nothing of it is heard, no tool of it runs. */
  | { readonly type: 'speculate'; readonly caller: CallerTurn }
  /** It was in vain. */
  | { readonly type: 'dropSpeculation' }
  /** As `ask`, at first, with the answer that was begun already. */
  | { readonly type: 'keepSpeculation'; readonly turn: TurnId; readonly caller: CallerTurn }
  | { readonly type: 'cancelModel'; readonly turn: TurnId }
  | { readonly type: 'say'; readonly turn: TurnId; readonly phrase: Phrase }
  /** Nothing follows the sentences given so far; `drained` comes when the last sample was sent. */
  | { readonly type: 'finishSpeech'; readonly turn: TurnId }
  /** The caller's turn is complete. `forModel` false: heard beside the conversation (a backchannel). */
  | { readonly type: 'commitCaller'; readonly caller: CallerTurn; readonly forModel: boolean }
  | { readonly type: 'commitAgent'; readonly turn: TurnId }
  /** The reply's first sample was sent. */
  | { readonly type: 'trace'; readonly turn: TurnId }
  | {
      readonly type: 'trouble'
      readonly part: 'speech_to_text' | 'language_model'
      readonly code: string
      readonly message: string
      /** The model is asked once more for the same reply. */
      readonly again?: boolean
    }
  | { readonly type: 'reopenEars' }
  /** What the detector takes for the caller's speech is noise. */
  | { readonly type: 'learnNoise' }
  | { readonly type: 'finish'; readonly why: FinishReason }
  /** Everything that belongs to the conversation ends: timers, jobs, sound. */
  | { readonly type: 'stop' }

export interface Step {
  readonly next: TurnState
  readonly effects: readonly TurnEffect[]
}
