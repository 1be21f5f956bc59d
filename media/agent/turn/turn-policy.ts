import type { AgentSpec, TurnTakingSpec } from '../agent-spec.js'
import { isBackchannel } from '../language/backchannel.js'
import { asksForNumber, awaitsKeys, type Openness, openness } from '../language/completeness.js'
import { asksForNoCalls } from '../language/opt-out-request.js'
import { plainWords } from '../language/plain-words.js'
import { TURN_PRESETS, type WaitLimits, waitLimits } from './turn-presets.js'

/** Turn-taking values. Times are in ms. */
export interface TurnPolicy {
  /**
   * Voiced time that confirms a barge-in without words. A cough has up to 400 ms voiced, "mm-hmm" up to 620
   * ms, speech 80 %. The agent is paused meanwhile, so the wait costs the caller nothing.
   */
  readonly confirmSpeechMs: number
  /** As `confirmSpeechMs`, while the text so far is only a backchannel ("haan, haan"). */
  readonly confirmBackchannelMs: number
  /** Sound of this length without words is noise: music, a machine, background talk. */
  readonly wordlessMs: number
  /** As `wordlessMs`, after the recogniser reported the end of the caller's words. */
  readonly afterWordsMs: number
  /** Silence after a sound that was no barge-in, before the agent resumes. */
  readonly resumeAfterMs: number
  /** Longest pause of playout, also when the caller's packets stop. */
  readonly pauseLimitMs: number
  /** Deadline of a final text, from the end of speech. */
  readonly finalDeadlineMs: number
  /** Waits from the caller's last sound to the answer, by completeness of the words. */
  readonly waitMs: Readonly<Record<Openness, WaitLimits>>
  /** Shorter sound without text does not lead to a question. */
  readonly minUnheardMs: number
  /** First-token deadline of the model. */
  readonly modelFirstTokenMs: number
  /** After this wait for the first token the agent speaks the filler phrase. */
  readonly modelSlowMs: number
  /** Number of models that can answer, including the agent's own. */
  readonly models: number
  /** Longest gap between two tokens. */
  readonly modelStallMs: number
  /** Longest time (ms) to the first token while the model shows that it works. */
  readonly modelProgressMs: number
  /** Attempts for one reply while nothing of it was spoken. */
  readonly modelAttempts: number
  /** Quick failures within this time allow more attempts, so that they do not end a call. */
  readonly retryWindowMs: number
  /** Delay before the third attempt, doubled for each one after. The second attempt is immediate. */
  readonly retryDelayMs: number
  /** After a failure this late, the agent apologises before the retry. */
  readonly apologiseAfterMs: number
  /** Longest silence of the agent in its turn, from the end of the caller's speech. */
  readonly maxAgentSilenceMs: number
  readonly toolRounds: number
  /** Wait for tools without audio: before the first filler phrase, and between filler phrases. */
  readonly toolsFirstMs: number
  /** Latest time of the first filler phrase, from the caller's last sound. */
  readonly toolsLatestMs: number
  readonly toolsAgainMs: number
  /** Time after the last key until the keys count as complete. */
  readonly digitsIdleMs: number
  /** As `digitsIdleMs`, within a number that the agent asked for: people read long numbers in groups. */
  readonly digitsPartMs: number
  readonly understandsSpeech: boolean
  /** The opening line is spoken to its end. */
  readonly protectedOpening: boolean
  /** Asks the model once per turn before the end of the turn is decided, when the words look complete. */
  readonly speculates: boolean
  /** Time after which the call ends, in the middle of a word if need be. */
  readonly maxCallMs: number
  readonly endingLimitMs: number
  /** Longest rest of a clause before an announcement. */
  readonly clauseLimitMs: number
  /** Time after the last sample was sent in which the far side's jitter buffer still plays it. */
  readonly tailMs: number
  /** Left with a voicemail once it records. Null leaves nothing. */
  readonly voicemailMessage: string | null
  /** Longest wait for a voicemail to record. */
  readonly recordingWaitMs: number
  /** Silence before each nudge, from the end of the agent's last words. */
  readonly nudgesMs: readonly number[]
  /** Silence after the last nudge that ends the call. Null means never. */
  readonly hangupAfterMs: number | null
  readonly hangupLine: boolean
  /** Time that the hang-up line takes, so that it starts this long before the call has to end. */
  readonly hangupLineMs: number
  /** How the caller opts out of calls. Null means that the agent hears no opt-out. */
  readonly optOut: {
    readonly asks: (text: string) => boolean
    /** The key that opts out when it is pressed alone. */
    readonly key: string | null
    /** Words count only when answering-machine detection has come to a result. */
    readonly awaitsVerdict: boolean
  } | null
  /** Consecutive failures after which a provider is given up. */
  readonly giveUpAfter: number
  /** Time (ms) of the caller's turn after which, and again after which, the agent says "hm". Null means never. */
  readonly backchannelAfterMs: number | null
  /** Tells whether a text alone does not interrupt the agent. */
  readonly isBackchannel: (text: string, overOpening: boolean) => boolean
  /** Tells whether the words need more, as an answer to the question `asked`. */
  readonly openness: (text: string, asked: string) => Openness
  /** Tells whether the question `asked` is about a number of a known length. */
  readonly asksForNumber: (asked: string) => boolean
  /** Tells whether the keys are a part of the number that the question `asked` is about. */
  readonly awaitsKeys: (keys: string, asked: string) => boolean
}

/** Limits that the vendors of this call declare. */
export interface VendorLimits {
  readonly finalDeadlineMs: number
  /** The operator set the deadline of the final text. */
  readonly finalDeadlineSet?: boolean
  readonly firstTokenDeadlineMs: number
  /** Number of models that can answer. Absent means only the agent's own. */
  readonly models?: number
  readonly understandsSpeech: boolean
  /** Words arrive while the caller still speaks. */
  readonly partials: boolean
  /** True if speculative requests are allowed. They cost requests and save the wait for the final text. */
  readonly speculates?: boolean
}

/** A listener on the telephone says "hm" about this often (ms) to a speaker who goes on. */
const BACKCHANNEL_AFTER_MS = 5000

/** A later first token is felt as silence. */
const SLOW_MS = 1200

const BALANCED: TurnTakingSpec = {
  preset: 'balanced',
  maxWaitMs: null,
  interruption: { minMs: null, minWords: 0 },
}

/** VAD: length of sound for an onset and of silence for an offset. */
export const VAD_START_MS = 60
export const VAD_STOP_MS = 300
/** Time from the answer to the start of the conversation, and from its end to the BYE. It is part of the call. */
const CLOSING_MS = 250
/** Estimates of a hang-up line: until its first sample, and per character. */
const SYNTHESIS_MS = 1000
const CHARACTER_MS = 80

/**
 * Returns the policy of an agent. `language` selects the word lists for backchannels and incomplete
 * sentences.
 */
export function policyFor(spec: AgentSpec, limits: VendorLimits, language: string | null = null): TurnPolicy {
  const nudgesMs = nudgeDelays(spec)
  const last = nudgesMs.at(-1)
  const { models = 1 } = limits
  const maxCallMs = spec.maxCallSeconds * 1000 - CLOSING_MS
  const { preset, maxWaitMs, interruption } = spec.turnTaking ?? BALANCED
  const { confirmSpeechMs, backchannelMs } = TURN_PRESETS[preset]
  const { minWords } = interruption
  const confirmMs = interruption.minMs ?? confirmSpeechMs
  const waitMs = waitLimits(preset, maxWaitMs)
  const longestWaitMs = Math.max(...Object.values(waitMs).map((limits) => limits.ifContinuing))
  return {
    confirmSpeechMs: confirmMs,
    confirmBackchannelMs: confirmMs + backchannelMs,
    // Partials arrive within a second. Without partials, text arrives at the first breath, which even long
    // sentences reach within 15 s.
    wordlessMs: limits.partials ? 4000 : 15_000,
    // A caller who goes on is recognised within a second. A television would never stop.
    afterWordsMs: limits.partials ? 1000 : 15_000,
    resumeAfterMs: 260,
    pauseLimitMs: 2000,
    // Dead air must stay below 3 s: a slower recogniser meets a question, and its late text interrupts that
    // question.
    finalDeadlineMs: limits.finalDeadlineSet
      ? limits.finalDeadlineMs
      : Math.min(limits.finalDeadlineMs, 2200),
    waitMs,
    minUnheardMs: 400,
    // With a second model available, waiting longer would only add dead air.
    modelFirstTokenMs:
      models > 1 ? Math.min(limits.firstTokenDeadlineMs, SLOW_MS) : limits.firstTokenDeadlineMs,
    modelSlowMs: SLOW_MS,
    models,
    modelStallMs: 1500,
    modelProgressMs: 10_000,
    modelAttempts: Math.max(3, models + 1),
    // About the length of the spoken apology.
    retryWindowMs: 2400,
    // Two first-token deadlines plus this delay stay below 3 s of dead air.
    retryDelayMs: 400,
    apologiseAfterMs: 900,
    // An agent that waits longer by its settings may also be silent for longer.
    maxAgentSilenceMs: 2300 + Math.max(0, longestWaitMs - 2000),
    toolRounds: 4,
    toolsFirstMs: 900,
    toolsLatestMs: 1600,
    // With a slow synthesis this still stays below 3 s of dead air.
    toolsAgainMs: 2000,
    digitsIdleMs: 2000,
    digitsPartMs: 4000,
    understandsSpeech: limits.understandsSpeech,
    protectedOpening: spec.openingProtected ?? false,
    speculates: limits.speculates ?? false,
    maxCallMs,
    endingLimitMs: 30_000,
    clauseLimitMs: 2500,
    tailMs: 200,
    voicemailMessage: spec.voicemail.message ?? null,
    recordingWaitMs: 40_000,
    nudgesMs,
    hangupAfterMs: spec.nudges.enabled && spec.nudges.hangupAfter && last !== undefined ? last : null,
    hangupLine: spec.hangupLine !== null,
    hangupLineMs: Math.min(maxCallMs / 2, lineMs(spec.hangupLine)),
    optOut: optOutOf(spec),
    giveUpAfter: 2,
    backchannelAfterMs: spec.turnTaking?.backchannels ? BACKCHANNEL_AFTER_MS : null,
    isBackchannel: (text, overOpening) =>
      (minWords > 0 && plainWords(text).length < minWords) || isBackchannel(text, overOpening, language),
    openness: (text, asked) => openness(text, language, asked),
    asksForNumber,
    awaitsKeys,
  }
}

function optOutOf({ optOut = null, voicemail }: AgentSpec): TurnPolicy['optOut'] {
  if (optOut === null) return null
  return {
    asks: (text) => optOut.phrases && asksForNoCalls(text),
    key: optOut.dtmfKey,
    awaitsVerdict: voicemail.enabled,
  }
}

/** Returns the time that a line takes with a slow voice, from the order to its last sample. */
export function lineMs(line: string | null): number {
  return line === null ? 0 : SYNTHESIS_MS + line.length * CHARACTER_MS
}

/**
 * Returns the delay before each nudge. `afterSeconds` counts from the start of the silence (10 s and 20 s: a
 * nudge every 10 s). A step that is not later than the one before counts from that nudge instead.
 */
function nudgeDelays(spec: AgentSpec): readonly number[] {
  if (!spec.nudges.enabled) return []
  let before = 0
  return spec.nudges.steps.map(({ afterSeconds }) => {
    const delay = afterSeconds > before ? afterSeconds - before : afterSeconds
    before = afterSeconds
    return delay * 1000
  })
}
