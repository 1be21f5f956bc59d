import type { SessionRate } from '../../../base/frame.js'

export interface SynthesisRequest {
  readonly text: string
  /** A voice of `voices.ts`. */
  readonly voice: string
  readonly language: string
  /** 1 is normal speed. */
  readonly pace: number
  readonly rate: SessionRate
}

/** A word of the request's text and where it sounds. */
export interface SynthesisedWord {
  /** UTF-16 units. */
  readonly textOffset: number
  readonly length: number
  readonly atMs: number
}

export interface Synthesis {
  /** Mono at the rate asked for; owned by the receiver. */
  readonly pcm: Int16Array
  readonly words: readonly SynthesisedWord[]
}

/**
 * Whole-text synthesis away from the calling thread's beat. Rejects with EngineError `overloaded`
 * (queue full), `vendor_stalled` (deadline passed), `vendor_rejected` (unknown voice, text too
 * long), `vendor_failed` or `closed`. An aborted request that has not begun never runs.
 */
export interface SynthesisPort {
  synthesize(request: SynthesisRequest, signal?: AbortSignal): Promise<Synthesis>
}
