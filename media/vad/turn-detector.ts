import type { SessionRate } from '../base/frame.js'

/** Longest audio that a turn detector uses (ms): the end of the caller's speech. */
export const TURN_DETECTOR_MS = 8000

/**
 * A neural model that estimates from audio whether a caller has finished the turn. It is asked in a pause and
 * runs on another thread. There is one model per thread and one stream per party.
 */
export interface TurnDetector {
  open(rate: SessionRate): TurnDetectorStream
}

export interface TurnDetectorStats {
  /** Questions asked, and questions answered in time. */
  readonly asked: number
  readonly answered: number
  /** Answers that arrived after the pause was over or decided, or never. */
  readonly late: number
  /** Questions refused because too many were queued. */
  readonly refused: number
  /** Number of times the model thread failed or hung and was replaced. */
  readonly restarts: number
}

export interface TurnDetectorStream {
  /** Takes a copy of the party's next audio. Allocates nothing and never waits. */
  push(pcm: Int16Array): void
  /**
   * Asks for the probability that the party has finished, 0 to 1, from the last `ms` of audio. `answered` is
   * called at most once, later. It is never called when the question is withdrawn, when the model is
   * overloaded or gone, or when the next question follows.
   */
  ask(ms: number, answered: (likely: number) => void): void
  /** Drops the pending question, if any: its answer would not matter any more. */
  withdraw(): void
  /** Idempotent. No answer follows. */
  close(): void
}
