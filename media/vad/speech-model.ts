import type { SessionRate } from '../base/frame.js'

/**
 * A model that tells speech from other sound, asked outside of the beat: its answers come a frame or two
 * after the sound. One for each thread; streams are one party each.
 */
export interface SpeechModel {
  open(rate: SessionRate): SpeechModelStream
}

export interface SpeechModelStats {
  /** Windows given to the model, in how many batches, and those of them that were judged. */
  readonly windows: number
  readonly batches: number
  readonly judged: number
  /** Frames for which no judgement came in time, so that the built-in detector decided. */
  readonly fallbackFrames: number
  /** Times the thread failed or hung and was replaced. */
  readonly restarts: number
}

export interface SpeechModelStream {
  /**
   * The next 20 ms, copied. Returns how likely the newest judged sound is speech, 0 to 1, or null when
   * no judgement came in time: then the listener is on its own. Allocates little, never waits.
   */
  process(pcm: Int16Array): number | null
  /** Idempotent. */
  close(): void
}
