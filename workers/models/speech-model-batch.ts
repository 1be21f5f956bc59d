/** Samples per window, by session rate. */
export type SpeechWindowSizes = Readonly<Record<8000 | 16000, number>>

/** Audio of several calls to judge at once; the array is transferred. */
export interface SpeechBatch {
  readonly rate: 8000 | 16000
  /** Stream ids, one window each. */
  readonly streams: readonly number[]
  readonly windows: Float32Array
  /** Closed streams, whose state is to be dropped. */
  readonly closed: readonly number[]
}

export interface SpeechScores {
  readonly streams: readonly number[]
  readonly probabilities: Float32Array
}
