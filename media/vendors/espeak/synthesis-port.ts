import type { SessionRate } from '../../base/frame.js'

export interface SynthesisRequest {
  readonly text: string
  /** Name of a voice in `voices.ts`. */
  readonly voice: string
  readonly language: string
  /** Speed; 1 is normal. */
  readonly pace: number
  readonly rate: SessionRate
}

/** A word of the request's text and its time in the audio. */
export interface SynthesisedWord {
  /** Offset in the text (UTF-16 units). */
  readonly textOffset: number
  readonly length: number
  readonly atMs: number
}

export interface Synthesis {
  /** Mono samples at the requested rate; the receiver owns them. */
  readonly pcm: Int16Array
  readonly words: readonly SynthesisedWord[]
}

/**
 * Synthesis of a whole text outside the calling thread. Rejects with EngineError `overloaded` (queue full),
 * `vendor_stalled` (deadline passed), `vendor_rejected` (unknown voice, text too long), `vendor_failed` or
 * `closed`. An aborted request that has not started never runs.
 */
export interface SynthesisPort {
  synthesize(request: SynthesisRequest, signal?: AbortSignal): Promise<Synthesis>
}
