/** Samples of one window, for a session of each rate. */
export type SpeechWindowSizes = Readonly<Record<8000 | 16000, number>>

/** Sound of several calls to be judged at once; the array is handed over. */
export interface SpeechBatch {
  readonly rate: 8000 | 16000
  /** Streams by number, one window each. */
  readonly streams: readonly number[]
  readonly windows: Float32Array
  /** Streams that are over: what is remembered of them goes. */
  readonly closed: readonly number[]
}

export interface SpeechScores {
  readonly streams: readonly number[]
  readonly probabilities: Float32Array
}
