import type { SessionRate } from '../base/frame.js'

/**
 * A neural model that separates speech from other sound. It runs on another thread, so its results arrive a
 * frame or two late. There is one model per thread and one stream per party.
 */
export interface SpeechModel {
  open(rate: SessionRate): SpeechModelStream
}

export interface SpeechModelStats {
  /** Windows sent to the model, the number of batches, and the windows that got a result. */
  readonly windows: number
  readonly batches: number
  readonly judged: number
  /** Frames without a result in time, for which the built-in detector decided. */
  readonly fallbackFrames: number
  /** Number of times the model thread failed or hung and was replaced. */
  readonly restarts: number
}

export interface SpeechModelStream {
  /**
   * Takes a copy of the next 20 ms. Returns the probability of speech for the newest result, 0 to 1, or null
   * when no result arrived in time and the caller must decide alone. Allocates little and never waits.
   */
  process(pcm: Int16Array): number | null
  /** Idempotent. */
  close(): void
}
