/*
 * Messages between the bench and its fake vendors. The vendors are a process of their own, so that their CPU
 * time is not counted with the callers' and their time stamps do not wait for the bench.
 */

/** Response times of the vendors (ms). */
export interface Profile {
  readonly name: 'zero' | 'typical' | 'tail' | 'upload'
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
  /** Every fourth reply of the model stalls for this long within its first sentence. */
  readonly stallMs: number
}

/**
 * `typical`: vendors that stream. `upload`: the recogniser gets the audio after the end of speech, so that its whole
 * work comes after it (0.3 to 1 s are usual). `tail`: the slowest hundredth of the vendors as far as published (streaming recogniser 400 to 500 ms, fast
 * model 750 ms, synthesis 250 ms), with a model that sometimes stalls. Slower vendors would trigger the
 * engine's filler phrase, which `Dead_air` measures.
 */
export const PROFILES: Readonly<Record<Profile['name'], Profile>> = {
  zero: { name: 'zero', transcriptionMs: 0, modelMs: 0, speechMs: 0, stallMs: 0 },
  typical: { name: 'typical', transcriptionMs: 250, modelMs: 400, speechMs: 120, stallMs: 0 },
  tail: { name: 'tail', transcriptionMs: 500, modelMs: 750, speechMs: 250, stallMs: 300 },
  upload: { name: 'upload', transcriptionMs: 700, modelMs: 400, speechMs: 120, stallMs: 0 },
}

/** The kinds of fault: one vendor fails one caller, from the caller's second question on. */
export const FAULTS = [
  /** Receives the end of the question and sends no text. */
  'stt_silent',
  /** The connection closes instead of the final text. */
  'stt_dies',
  /** The response begins but sends no token. */
  'llm_stalls',
  /** The response stops in the middle of the first sentence. */
  'llm_stops',
  'llm_429',
  'llm_500',
  /** The connection closes in the middle of the first sentence. */
  'llm_dies',
  'tts_silent',
  /** Rejects the text. */
  'tts_refuses',
  /** Sends 600 ms of audio and then nothing. */
  'tts_stalls',
  /** Sends 600 ms of audio, then an error. */
  'tts_fails',
] as const

export type Fault = (typeof FAULTS)[number]

export interface VendorOptions {
  readonly profile: Profile
  /** Length of speech per sentence for the voice `noise`. */
  readonly replySeconds: number
  /**
   * `noise` sounds like a voice; in `words` each word of `bench/vendors/vocabulary.ts` is a tone of its own.
   */
  readonly voice: 'noise' | 'words'
  /** By caller's number. */
  readonly faults: Readonly<Record<string, Fault>>
  /** PEM of the vendors' TLS certificate. */
  readonly certificate: string
  readonly key: string
}

/** One answered question at the vendors. Times of the machine's monotonic clock. */
export interface TurnWaits {
  readonly from: string
  /** When the final text was requested, and sent. */
  readonly flushMs: number
  readonly finalMs: number
  /** When the model was asked, and when it sent the piece that completed its first sentence. */
  readonly askedMs: number
  readonly sentenceMs: number
  /** When the first sentence was sent to the synthesis, and its first audio returned. */
  readonly speakMs: number
  readonly audioMs: number
}

/** When a fault took effect for the first time. */
export interface FaultMoment {
  readonly from: string
  readonly fault: Fault
  readonly atMs: number
}

export interface VendorReport {
  readonly turns: readonly TurnWaits[]
  readonly faults: readonly FaultMoment[]
  /** CPU time of the vendors' process since its start. */
  readonly cpuMs: number
}

export type ToVendors =
  | { readonly type: 'start'; readonly options: VendorOptions }
  /** Text of the utterances from now on; null for the numbered question. */
  | { readonly type: 'hears'; readonly text: string | null }
  | { readonly type: 'report' }
  | { readonly type: 'close' }

export type FromVendors =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'heard' }
  | { readonly kind: 'report'; readonly report: VendorReport }
