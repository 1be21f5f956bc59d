import type { SessionRate } from '../base/frame.js'

/** What such a model hears at most: the end of what a caller says. */
export const TURN_DETECTOR_MS = 8000

/**
 * A model that tells from the sound whether a caller has finished, asked in a pause and outside of the
 * beat. One for each thread; streams are one party each.
 */
export interface TurnDetector {
  open(rate: SessionRate): TurnDetectorStream
}

export interface TurnDetectorStats {
  /** Pauses it was asked about, and how many of those it answered in time. */
  readonly asked: number
  readonly answered: number
  /** Answers that came too late or not at all: the words alone decided. */
  readonly late: number
  /** Questions put aside because too many waited. */
  readonly refused: number
  /** Times the thread failed or hung and was replaced. */
  readonly restarts: number
}

export interface TurnDetectorStream {
  /** The next sound of the party, copied. Allocates nothing, never waits. */
  push(pcm: Int16Array): void
  /**
   * How likely the party has finished, 0 to 1, by the last `ms` that were heard. `answered` is called
   * once and later, or never: when the model is late, overloaded or gone, or the next question comes.
   */
  ask(ms: number, answered: (likely: number) => void): void
  /** Idempotent; nothing is answered afterwards. */
  close(): void
}
