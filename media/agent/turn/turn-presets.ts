import type { TurnTakingSpec } from '../agent-spec.js'
import type { Openness } from '../language/completeness.js'

/** Waits (ms) from the caller's last sound until the words are answered. */
export interface WaitLimits {
  /** When the turn detector is sure that the caller has finished. */
  readonly ifFinished: number
  /** When nothing else is known. 0 means only the time of the VAD and the recogniser. */
  readonly usual: number
  /** Upper limit for a wait derived from this caller's own pauses. */
  readonly maxFromPauses: number
  /** When the turn detector is sure that the caller goes on. */
  readonly ifContinuing: number
}

interface TurnPreset {
  /** Voiced time (ms) that interrupts the agent without words. */
  readonly confirmSpeechMs: number
  /** Additional voiced time (ms) while the text so far is only a backchannel. */
  readonly backchannelMs: number
  readonly waitMs: Readonly<Record<Openness, WaitLimits>>
}

/**
 * Presets of turn taking. `balanced` was chosen on the tuning set of fixtures/turns, below the 2.3 s after which the
 * agent must be audible. `fast` trades cut-off callers for quick answers, `patient` the reverse.
 */
export const TURN_PRESETS: Readonly<Record<TurnTakingSpec['preset'], TurnPreset>> = {
  fast: {
    confirmSpeechMs: 500,
    backchannelMs: 500,
    waitMs: {
      closed: { ifFinished: 0, usual: 0, maxFromPauses: 300, ifContinuing: 1000 },
      open: { ifFinished: 300, usual: 600, maxFromPauses: 1200, ifContinuing: 1200 },
      spelling: { ifFinished: 500, usual: 1200, maxFromPauses: 1500, ifContinuing: 1500 },
    },
  },
  balanced: {
    confirmSpeechMs: 700,
    backchannelMs: 500,
    waitMs: {
      closed: { ifFinished: 0, usual: 0, maxFromPauses: 500, ifContinuing: 1600 },
      open: { ifFinished: 500, usual: 960, maxFromPauses: 2000, ifContinuing: 2000 },
      spelling: { ifFinished: 700, usual: 1800, maxFromPauses: 2000, ifContinuing: 2000 },
    },
  },
  patient: {
    confirmSpeechMs: 900,
    backchannelMs: 700,
    waitMs: {
      closed: { ifFinished: 300, usual: 700, maxFromPauses: 1500, ifContinuing: 2000 },
      open: { ifFinished: 800, usual: 1500, maxFromPauses: 3000, ifContinuing: 3000 },
      spelling: { ifFinished: 1000, usual: 2400, maxFromPauses: 3000, ifContinuing: 3000 },
    },
  },
}

/**
 * Returns the waits of a preset. `maxWaitMs` caps each of them; a value above the preset's longest wait raises the
 * waits for a caller who has not finished.
 */
export function waitLimits(
  preset: TurnTakingSpec['preset'],
  maxWaitMs: number | null,
): Readonly<Record<Openness, WaitLimits>> {
  const { closed, open, spelling } = TURN_PRESETS[preset].waitMs
  if (maxWaitMs === null) return { closed, open, spelling }
  const capped = (limits: WaitLimits): WaitLimits => ({
    ifFinished: Math.min(limits.ifFinished, maxWaitMs),
    usual: Math.min(limits.usual, maxWaitMs),
    maxFromPauses: Math.min(limits.maxFromPauses, maxWaitMs),
    ifContinuing: Math.min(limits.ifContinuing, maxWaitMs),
  })
  // Words that may go on are what a longer wait is for.
  const raised = (limits: WaitLimits): WaitLimits => ({
    ...capped(limits),
    maxFromPauses: maxWaitMs,
    ifContinuing: maxWaitMs,
  })
  return { closed: capped(closed), open: raised(open), spelling: raised(spelling) }
}
