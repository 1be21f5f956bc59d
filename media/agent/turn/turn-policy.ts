import type { AgentSpec } from '../agent-spec.js'
import { isBackchannel } from '../language/backchannel.js'
import { type Openness, openness } from '../language/completeness.js'

/** How long a caller may go on, counted from the last sound, before the words are answered. */
export interface WaitLimits {
  /** When a model is sure by the sound that the caller has finished. */
  readonly ifFinished: number
  /** When nothing more is known. 0: no longer than detector and recogniser take. */
  readonly usual: number
  /** The most that this caller's own pauses make of it. */
  readonly maxFromPauses: number
  /** When a model is sure that the caller goes on. */
  readonly ifContinuing: number
}

/** The numbers of turn-taking. All in ms. */
export interface TurnPolicy {
  /**
   * Voiced time that proves an interruption without words: of a fit of coughing a third is voiced, up to
   * 400 ms, of "mm-hmm" up to 620, of speech four fifths. The agent is silent meanwhile, so waiting
   * costs the caller nothing.
   */
  readonly confirmSpeechMs: number
  /** The same while the text so far is only a backchannel ("haan, haan"). */
  readonly confirmBackchannelMs: number
  /** Sound that lasts this long without words of the caller is noise: music, a machine, another's talk. */
  readonly wordlessMs: number
  /** The same once the recogniser has said that the caller's words are over. */
  readonly afterWordsMs: number
  /** Quiet after a sound that was no interruption before the agent goes on. */
  readonly resumeAfterMs: number
  /** Longest pause without proof, when even the caller's packets stop coming. */
  readonly pauseLimitMs: number
  /** A final text is expected this long after the end of speech. */
  readonly finalDeadlineMs: number
  /** From the last sound of a caller to the answer, by what the words ask for. */
  readonly waitMs: Readonly<Record<Openness, WaitLimits>>
  /** Sound shorter than this, for which no text came, is not worth asking about. */
  readonly minUnheardMs: number
  /** A model that has not begun by then is given up, */
  readonly modelFirstTokenMs: number
  /** and by then the caller is told to wait. */
  readonly modelSlowMs: number
  /** Models that can answer, the agent's own included. */
  readonly models: number
  /** Longest gap between two tokens. */
  readonly modelStallMs: number
  /** Attempts for one reply while nothing of it was spoken. */
  readonly modelAttempts: number
  /** For so long after the first failure there are more of them: quick failures do not end a call. */
  readonly retryWindowMs: number
  /** Before the third attempt (the first retry is immediate), twice as long before each that follows. */
  readonly retryDelayMs: number
  /** After a failure this long into the wait, the caller is told before the retry. */
  readonly apologiseAfterMs: number
  /** Longest silence of an agent that has the floor, from the end of the caller's speech. */
  readonly maxAgentSilenceMs: number
  readonly toolRounds: number
  /** While tools run and nothing is heard: before the first words, and after words before the next. */
  readonly toolsFirstMs: number
  /** The first words come no later than this after the caller's last. */
  readonly toolsLatestMs: number
  readonly toolsAgainMs: number
  readonly digitsIdleMs: number
  readonly understandsSpeech: boolean
  /** The model is asked before the caller's turn is decided, once a turn, when the words look complete. */
  readonly speculates: boolean
  readonly maxCallMs: number
  readonly endingLimitMs: number
  /** After the last sample was sent: the far side's jitter buffer still plays it. */
  readonly tailMs: number
  /** Silence before each nudge, counted from the end of the agent's last words. */
  readonly nudgesMs: readonly number[]
  /** Silence after the last nudge that ends the call; null never does. */
  readonly hangupAfterMs: number | null
  readonly hangupLine: boolean
  /** Failures in a row after which a provider is given up. */
  readonly giveUpAfter: number
  readonly isBackchannel: (text: string, overOpening: boolean) => boolean
  readonly openness: (text: string) => Openness
}

/** What the vendors of this call declare. */
export interface VendorLimits {
  readonly finalDeadlineMs: number
  readonly firstTokenDeadlineMs: number
  /** Models that can answer; absent: the agent's own alone. */
  readonly models?: number
  readonly understandsSpeech: boolean
  /** Words come while the caller still speaks. */
  readonly partials: boolean
  /** Whether the model may be asked in vain: it costs requests, and saves the recogniser's last word. */
  readonly speculates?: boolean
}

/** A first token later than this is felt as silence. */
const SLOW_MS = 1200

/** VAD: sound this long is an onset, quiet this long an offset. */
export const VAD_START_MS = 60
export const VAD_STOP_MS = 300

/** `language`: of the call, whose words tell listening sounds and unfinished sentences. */
export function policyFor(spec: AgentSpec, limits: VendorLimits, language: string | null = null): TurnPolicy {
  const nudgesMs = nudgeDelays(spec)
  const last = nudgesMs.at(-1)
  const { models = 1 } = limits
  return {
    confirmSpeechMs: 700,
    confirmBackchannelMs: 1200,
    // Partial texts come within a second; without them a text comes at the first breath, which the
    // longest sentences of telephone talk do not reach 15 s without.
    wordlessMs: limits.partials ? 4000 : 15_000,
    // A caller who goes on is heard to within a second; a television would go on for ever.
    afterWordsMs: limits.partials ? 1000 : 15_000,
    resumeAfterMs: 260,
    pauseLimitMs: 2000,
    // The promise is no dead air over 3 s: a slower recogniser meets a question, and its late text
    // interrupts that question.
    finalDeadlineMs: Math.min(limits.finalDeadlineMs, 2200),
    // Chosen on the tuning set of fixtures/turns, below the 2.3 s after which an agent that has the floor
    // must be heard.
    waitMs: {
      closed: { ifFinished: 0, usual: 0, maxFromPauses: 500, ifContinuing: 1600 },
      open: { ifFinished: 500, usual: 960, maxFromPauses: 2000, ifContinuing: 2000 },
      spelling: { ifFinished: 700, usual: 1800, maxFromPauses: 2000, ifContinuing: 2000 },
    },
    minUnheardMs: 400,
    // With another to ask, nobody waits longer (Dead_air in the table of figures).
    modelFirstTokenMs:
      models > 1 ? Math.min(limits.firstTokenDeadlineMs, SLOW_MS) : limits.firstTokenDeadlineMs,
    modelSlowMs: SLOW_MS,
    models,
    modelStallMs: 1500,
    modelAttempts: Math.max(3, models + 1),
    // The excuse lasts about as long.
    retryWindowMs: 2400,
    // With two first-token deadlines still below the 3 s of dead air.
    retryDelayMs: 400,
    apologiseAfterMs: 900,
    maxAgentSilenceMs: 2300,
    toolRounds: 4,
    toolsFirstMs: 900,
    toolsLatestMs: 1600,
    // With a synthesis that takes its time, still below the 3 s of dead air.
    toolsAgainMs: 2000,
    digitsIdleMs: 2000,
    understandsSpeech: limits.understandsSpeech,
    speculates: limits.speculates ?? false,
    maxCallMs: spec.maxCallSeconds * 1000,
    endingLimitMs: 30_000,
    tailMs: 200,
    nudgesMs,
    hangupAfterMs: spec.nudges.enabled && spec.nudges.hangupAfter && last !== undefined ? last : null,
    hangupLine: spec.hangupLine !== null,
    giveUpAfter: 2,
    isBackchannel: (text, overOpening) => isBackchannel(text, overOpening, language),
    openness: (text) => openness(text, language),
  }
}

/**
 * `afterSeconds` of the steps counts from the beginning of the silence (10 s, 20 s: a nudge every
 * 10 s); a step that is not later than the one before counts from that nudge instead.
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
