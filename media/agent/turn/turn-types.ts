import type { TimedWord } from '../agent-spec.js'
import type { AnsweredBy } from '../answering-machine/answering-machine-detector.js'
import type { FinishReason, TurnId } from '../conversation-events.js'
import type { ToolWait } from './tool-wait.js'

/*
 * Types of the turn machine (turn-machine.ts): its state, inputs and effects. All times are session ms and
 * come with the input because the machine has no clock.
 */

/** The last speculative request. */
export interface Speculation {
  /** Id of the caller's turn. */
  readonly caller: number
  /** The words it answers, normalised. */
  readonly words: string
  /** False after the answer was used or discarded. */
  readonly live: boolean
  /** Requests for the turn, this one included. */
  readonly requests: number
}

export type Phase =
  /** Media is not live yet. */
  | 'opening'
  /** It is the caller's turn and the caller is silent. */
  | 'listening'
  | 'callerSpeaking'
  /** The caller stopped speaking. The final text is pending. */
  | 'waitingFinal'
  /** It is the agent's turn. No audio of the reply was sent yet. */
  | 'thinking'
  | 'speaking'
  /** Playout is paused until the caller's sound proves to be a barge-in or not. */
  | 'paused'
  /** The agent takes no part in the call: it hears no party, and says only what it is told to say. */
  | 'away'
  /** The last phrase is being spoken and cannot be interrupted. */
  | 'ending'
  | 'ended'

/** A text that the conversation was told to say. */
export interface Announcement {
  /** Null says nothing. */
  readonly text: string | null
  /** The call ends after it. */
  readonly last: boolean
  /** Said at once, in the middle of a clause; otherwise the agent first ends its clause. */
  readonly now?: boolean
}

/** Canned phrases, spoken without the model. */
export type Phrase =
  | 'opening'
  | 'hangup'
  | { readonly nudge: number }
  | { readonly say: string }
  /** "I am having trouble. One moment please." */
  | 'failure'
  /** A tool takes time, then takes even longer. */
  | 'wait'
  | 'stillWaiting'
  /** "Please say it again." */
  | 'repeat'
  /** "I cannot understand speech. You can use the keys." */
  | 'digitsOnly'
  /** "There is a technical problem. Goodbye." */
  | 'goodbye'
  /** "We will not call this number again." */
  | 'optedOut'

/** A turn of the caller that still grows. */
export interface CallerTurn {
  readonly id: TurnId
  readonly startMs: number
  /** Last voiced sample. */
  readonly endMs: number
  /** The VAD detects speech now. */
  readonly voiced: boolean
  /** The final texts, joined. */
  readonly text: string
  readonly words: readonly TimedWord[]
  /** Partial text after the last final. */
  readonly partial: string
  /** Utterances that ended and have no final text yet. */
  readonly pendingFinals: number
  /** A final text arrived before the VAD detected the end of speech. */
  readonly finalBeforeEnd: boolean
  /** The machine waits because the words seem incomplete. */
  readonly awaitingMore: boolean
  /** The turn detector's probability (0 to 1) that the caller has finished, from the audio up to `endMs`. */
  readonly turnEstimate: { readonly endMs: number; readonly probability: number } | null
}

/** The agent's current utterance. */
export interface Reply {
  readonly id: TurnId
  readonly kind: 'reply' | 'phrase' | 'announcement' | 'last'
  readonly opening: boolean
  readonly interruptible: boolean
  /** Its first sample was sent. */
  readonly audible: boolean
  /** At least one sentence was given to synthesis. */
  readonly sentenceGiven: boolean
  /** Its last sentence so far. Empty for a phrase. */
  readonly lastSentence: string
  readonly pausedAtMs: number | null
  readonly askedAtMs: number
  readonly attempt: number
  /** Time of the model's first failure in this round. */
  readonly failedSinceMs: number | null
  readonly round: number
  readonly modelBusy: boolean
  /** Last token of the running attempt. Null before its first token. */
  readonly lastTokenMs: number | null
  /** Time of the last sign of work before the first token; null before it. */
  readonly progressMs: number | null
  readonly apologised: boolean
  readonly tools: ToolWait
  /** Number of times that the silence timer fired. */
  readonly silenceTimeouts: number
  /** Set when the call ends after this utterance. */
  readonly finishReason: FinishReason | null
}

export interface TurnState {
  readonly phase: Phase
  readonly nextTurn: TurnId
  /** The caller's turn: expected, in progress, or overlapping the agent. */
  readonly caller: CallerTurn | null
  /**
   * The caller's turn that the reply answers. Final once the reply is audible; merged into the next turn
   * before that.
   */
  readonly answering: CallerTurn | null
  readonly reply: Reply | null
  readonly speculation: Speculation | null
  /** Result of answering-machine detection. Null before the first one. */
  readonly answeredBy: AnsweredBy | null
  /** Nudges spoken since the caller last spoke. */
  readonly nudged: number
  readonly digits: string
  /** Last sentence of the model that the caller heard: the question that the caller answers. */
  readonly asked: string
  readonly digitsOnlySaid: boolean
  /** Consecutive replies that a model failure cut short. */
  readonly brokenReplies: number
  readonly recognitionFailures: number
  /** The caller was asked to repeat and no text has arrived since. */
  readonly askedToRepeat: boolean
  /** Typical pause of this caller within a turn (ms). Null before the first one. */
  readonly pauseMs: number | null
  /**
   * Longest recent pause after words that seemed complete but were not (ms). Halves after each complete turn.
   */
  readonly earlyAnswerPauseMs: number
  /** Partial text that was answered because the final was late. The late final must not count again. */
  readonly usedPartial: string | null
  /** The utterance that wordless sound interrupted. When no words follow, the agent speaks again. */
  readonly interruptedBySound: 'opening' | 'other' | null
  /** Wordless sound interrupted for nothing. Until words arrive, only words can interrupt. */
  readonly ignoreWordlessSound: boolean
  /** Time at which the caller's present sound took the turn, or at which words last arrived. */
  readonly callerConfirmedMs: number
  /** Everything was said. The call ends when the last samples have been played. */
  readonly finishReason: FinishReason | null
  /** Waits until the present utterance stops at the end of a clause. */
  readonly announcement: Announcement | null
  /** The caller wants no more calls, and the agent has not confirmed it. */
  readonly optOutAsked: boolean
  /** Total time of earlier absences. The limits of the call do not count it. */
  readonly awayMs: number
  readonly awaySinceMs: number | null
  /** Number of inputs that did not fit the state. */
  readonly unexpected: number
  /** Time of the agent's latest backchannel (session ms). */
  readonly backchannelMs: number
}

export type TimerName =
  /** The hang-up line is due. */
  | 'callLimit'
  /** The longest call is over. */
  | 'callEnd'
  | 'digits'
  | 'final'
  /** The caller's sound goes on without words. */
  | 'wordless'
  /** The caller has spoken for long, and the agent shows that it listens. */
  | 'backchannel'
  | 'nudge'
  | 'modelFirst'
  | 'modelStall'
  /** The next filler phrase while tools run. */
  | 'tools'
  | 'retry'
  | 'agentSilence'
  | 'pause'
  | 'resume'
  /** The utterance must stop for an announcement, in the middle of a clause if need be. */
  | 'clause'
  | 'ending'
  | 'tail'
  /** The voicemail that answered has not begun to record. */
  | 'recording'

/** Owner of the timers that belong to the call, not to a turn. */
export const CALL: TurnId = 0

export type TurnInput = { readonly atMs: number } & (
  | { readonly type: 'start'; readonly opening: boolean }
  /** The VAD detected the onset of speech at `fromMs`. */
  | { readonly type: 'onset'; readonly fromMs: number }
  /** Every frame while paused: voiced time of the sound so far and current silence (ms). */
  | { readonly type: 'voice'; readonly voicedMs: number; readonly quietMs: number }
  | { readonly type: 'offset'; readonly lastVoicedMs: number }
  /**
   * The turn detector's probability (0 to 1) that the caller has finished, from the audio up to
   * `lastVoicedMs`.
   */
  | { readonly type: 'turnEstimate'; readonly lastVoicedMs: number; readonly probability: number }
  | { readonly type: 'partial'; readonly text: string }
  | { readonly type: 'final'; readonly text: string; readonly words: readonly TimedWord[] | null }
  /** The recogniser considers the words complete but is not sure (true), or no longer does (false). */
  | { readonly type: 'eagerEndOfTurn'; readonly complete: boolean }
  /** The context of the model has changed, for example by a late tool result. */
  | { readonly type: 'contextChanged' }
  /** The speculative request failed. */
  | { readonly type: 'speculationFailed' }
  | { readonly type: 'recognitionFailed'; readonly code: string; readonly message: string }
  | { readonly type: 'digit'; readonly digit: string }
  | { readonly type: 'token'; readonly turn: TurnId }
  /** The model works and has no words yet: it reasons, or writes the arguments of a tool. */
  | { readonly type: 'progress'; readonly turn: TurnId }
  /** A sentence of the model was given to synthesis. Speech-to-speech models give no text yet. */
  | { readonly type: 'sentence'; readonly turn: TurnId; readonly text?: string }
  /** The answer is complete and its tools run. `fillerSpoken`: filler words were given to synthesis. */
  | { readonly type: 'toolsRun'; readonly turn: TurnId; readonly fillerSpoken: boolean }
  /** `again`: tool results are ready for the model. `end`: the model ended the call. */
  | { readonly type: 'modelDone'; readonly turn: TurnId; readonly next: 'nothing' | 'again' | 'end' }
  | {
      readonly type: 'modelFailed'
      readonly turn: TurnId
      readonly code: string
      readonly message: string
    }
  | { readonly type: 'firstSample'; readonly turn: TurnId }
  | { readonly type: 'drained'; readonly turn: TurnId }
  /** The utterance ran out of audio before its end, or has audio again. Not sent while paused. */
  | { readonly type: 'audioFlow'; readonly turn: TurnId; readonly flowing: boolean }
  /** No synthesis works any more. */
  | { readonly type: 'synthesisFailed'; readonly turn: TurnId }
  | { readonly type: 'timer'; readonly turn: TurnId; readonly name: TimerName }
  /** Words of the caller that were recognised late ask for no more calls. */
  | { readonly type: 'optOut' }
  /** The result of answering-machine detection is new or has changed. */
  | { readonly type: 'answeredBy'; readonly by: AnsweredBy }
  /** The voicemail records from now on: its beep ended, or its greeting ended without one. */
  | { readonly type: 'recording' }
  /** Says a text as soon as the present utterance reaches the end of a clause. */
  | ({ readonly type: 'say' } & Announcement)
  /** The agent leaves the call to others, and takes part again. */
  | { readonly type: 'leave' }
  | { readonly type: 'return' }
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
  /**
   * Resumes at the same sample. `pausedAtMs` is null when nothing was audible, so there is nothing to report.
   */
  | { readonly type: 'resume'; readonly turn: TurnId; readonly pausedAtMs: number | null }
  /** The caller interrupted the agent: discards unsent audio and keeps the heard words. */
  | { readonly type: 'interrupt'; readonly turn: TurnId; readonly atMs: number }
  /** Stops speech for another reason and keeps the heard words. */
  | { readonly type: 'stopSpeech'; readonly turn: TurnId }
  /** Ends the utterance at the end of its present clause. `drained` follows. */
  | { readonly type: 'stopAtClause'; readonly turn: TurnId }
  /** Discards a reply of which nothing was sent. */
  | { readonly type: 'dropReply'; readonly turn: TurnId }
  /**
   * Asks the model with the caller's words and the tool results of earlier rounds. `caller` is null when its
   * words were committed already.
   */
  | {
      readonly type: 'ask'
      readonly turn: TurnId
      readonly caller: CallerTurn | null
      readonly attempt: number
      readonly round: number
    }
  /** Asks the model as `ask` would, without speaking the answer or running its tools. */
  | { readonly type: 'speculate'; readonly caller: CallerTurn }
  /** Cancels the speculative request. */
  | { readonly type: 'dropSpeculation' }
  /** Uses the speculative answer as the first answer of this reply. */
  | { readonly type: 'keepSpeculation'; readonly turn: TurnId; readonly caller: CallerTurn }
  | { readonly type: 'cancelModel'; readonly turn: TurnId }
  /** Says a short "hm" beside the caller's words; it is no turn. */
  | { readonly type: 'backchannel' }
  | { readonly type: 'sayPhrase'; readonly turn: TurnId; readonly phrase: Phrase }
  /** Ends the utterance after the sentences so far. `drained` follows when the last sample was sent. */
  | { readonly type: 'finishSpeech'; readonly turn: TurnId }
  /**
   * Completes the caller's turn. With `forModel` false, it stays out of the model's context (a backchannel).
   */
  | { readonly type: 'commitCaller'; readonly caller: CallerTurn; readonly forModel: boolean }
  | { readonly type: 'commitAgent'; readonly turn: TurnId }
  /** The reply's first sample was sent. */
  | { readonly type: 'replyAudible'; readonly turn: TurnId }
  | {
      readonly type: 'reportFailure'
      readonly part: 'speech_to_text' | 'language_model'
      readonly code: string
      readonly message: string
      /** The model is asked again for the same reply. */
      readonly again?: boolean
    }
  | { readonly type: 'reopenRecogniser' }
  /** Nothing is recognised until `reopenRecogniser`. */
  | { readonly type: 'suspendRecogniser' }
  /** Tells recognition whether the agent asked for a number. */
  | { readonly type: 'expectNumber'; readonly expected: boolean }
  /** Treats the sound that the VAD takes for speech as noise. */
  | { readonly type: 'learnNoise' }
  /** Adds a note to the model's context. */
  | { readonly type: 'addNote'; readonly note: string }
  | { readonly type: 'finish'; readonly why: FinishReason }
  /** Ends all timers, jobs and audio of the conversation. */
  | { readonly type: 'stop' }

export interface Step {
  readonly next: TurnState
  readonly effects: readonly TurnEffect[]
}
