/** One utterance that is being recognised. */
export interface Utterance {
  /** Takes the next audio: 16 kHz, full scale 1. */
  write(audio: Float32Array): void
  /** Returns the text so far; null when the model gives no partial texts. */
  partial(): string | null
  /** Resolves with the text. Call it once, at the end. */
  end(): Promise<string>
}

/** A recogniser of one language, with its model in memory. */
export interface Recogniser {
  /** Name under which requests find it. */
  readonly model: string
  /** Human-readable name of the kind of model. */
  readonly kind: string
  readonly streaming: boolean
  begin(): Utterance
}

/** Sample rate (Hz) of the audio that recognisers take. */
export const RECOGNISER_RATE = 16_000
