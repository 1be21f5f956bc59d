/*
 * What crosses between the bench and its vendors, which are a process of their own: their CPU must not
 * be the callers', and their moments must not wait for the bench.
 */

/** What the vendors take before they say anything, in ms. */
export interface Profile {
  readonly name: 'zero' | 'typical' | 'tail'
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
  /** Every fourth answer of the model stands still for so long within its first sentence. */
  readonly stallMs: number
}

/**
 * `tail`: what vendors take in their slowest hundredth, as far as they publish it (a streaming recogniser
 * 400 to 500, a fast model 750, a synthesis 250), with a model that stands still at times. Slower ones
 * would meet the engine's own line against dead air, which `Dead_air` measures.
 */
export const PROFILES: Readonly<Record<Profile['name'], Profile>> = {
  zero: { name: 'zero', transcriptionMs: 0, modelMs: 0, speechMs: 0, stallMs: 0 },
  typical: { name: 'typical', transcriptionMs: 250, modelMs: 400, speechMs: 120, stallMs: 0 },
  tail: { name: 'tail', transcriptionMs: 500, modelMs: 750, speechMs: 250, stallMs: 300 },
}

/** One vendor that fails one caller, from the caller's second question on. */
export const FAULTS = [
  /** Hears the end of the question and sends no text. */
  'stt_silent',
  /** The connection breaks there. */
  'stt_dies',
  /** The answer begins and no word comes. */
  'llm_stalls',
  /** It stops in the middle of the first sentence. */
  'llm_stops',
  'llm_429',
  'llm_500',
  /** The connection breaks in the middle of the first sentence. */
  'llm_dies',
  'tts_silent',
  /** Refuses the text. */
  'tts_refuses',
  /** 600 ms of sound and no more. */
  'tts_stalls',
  /** 600 ms of sound, then an error. */
  'tts_fails',
] as const

export type Fault = (typeof FAULTS)[number]

export interface VendorOptions {
  readonly profile: Profile
  /** Speech of each sentence, for the voice `noise`. */
  readonly replySeconds: number
  /** `noise` sounds like a voice; in `words` each word of `bench/vendors/vocabulary.ts` is its own tone. */
  readonly voice: 'noise' | 'words'
  /** By caller's number. */
  readonly faults: Readonly<Record<string, Fault>>
  /** PEM of the vendors' TLS. */
  readonly certificate: string
  readonly key: string
}

/** One answered question at the vendors. Moments of the machine's monotonic clock. */
export interface TurnWaits {
  readonly from: string
  /** The recogniser was asked for its final text, and sent it. */
  readonly flushMs: number
  readonly finalMs: number
  /** The model was asked; the piece left that completed its first sentence. */
  readonly askedMs: number
  readonly sentenceMs: number
  /** The first sentence came to the synthesis; its first sound left. */
  readonly speakMs: number
  readonly audioMs: number
}

/** When a fault showed for the first time. */
export interface FaultMoment {
  readonly from: string
  readonly fault: Fault
  readonly atMs: number
}

export interface VendorReport {
  readonly turns: readonly TurnWaits[]
  readonly faults: readonly FaultMoment[]
  /** CPU of the vendors' process since it began. */
  readonly cpuMs: number
}

export type ToVendors =
  | { readonly type: 'start'; readonly options: VendorOptions }
  /** Text of the utterances from now on; null is the numbered question. */
  | { readonly type: 'hears'; readonly text: string | null }
  | { readonly type: 'report' }
  | { readonly type: 'close' }

export type FromVendors =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'heard' }
  | { readonly kind: 'report'; readonly report: VendorReport }
