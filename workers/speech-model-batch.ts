/** Sound of several calls to be judged at once; the arrays are handed over. */
export interface SpeechBatch {
  /** Streams by number, one window each. */
  readonly streams: readonly number[]
  readonly windows: Float32Array
  /** Streams that are over: what is remembered of them goes. */
  readonly closed: readonly number[]
}

export interface ToModel {
  readonly rate: 8000 | 16000
  readonly batch: SpeechBatch
}

export type FromModel =
  /** Samples of one window for a session of each rate, and the rate they are judged at. */
  | { readonly kind: 'ready'; readonly window8k: number; readonly window16k: number }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'judged'; readonly streams: readonly number[]; readonly likely: Float32Array }

export interface ModelThreadData {
  readonly path: string
  /** The package that runs the model; a test names one that is not there. */
  readonly runtime: string
}
