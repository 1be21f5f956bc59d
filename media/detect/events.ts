import type { Digit } from '../base/frame.js'

/** Tones of the network that tell how a call goes on. */
export type ProgressTone = 'ringback' | 'busy' | 'congestion' | 'unobtainable'

/** What the special information tones before a recorded announcement say (ITU-T E.180, Bellcore SR-2275). */
export type InformationTone = 'intercept' | 'vacant_number' | 'reorder' | 'no_circuit' | 'unknown'

/** What detectors tell of one party. Times are session ms of the sound itself, not of its detection. */
export type DetectorEvent =
  /** A key heard as sound, when its tone was over. */
  | {
      readonly type: 'digit'
      readonly digit: Digit
      readonly startMs: number
      readonly durationMs: number
    }
  /** The tone after which an answering machine records, when it was over: speak now. */
  | {
      readonly type: 'beep'
      readonly hertz: number
      readonly startMs: number
      readonly durationMs: number
    }
  /** A fax machine that calls (CNG, 1100 Hz) or answers (CED and ANSam, 2100 Hz). */
  | { readonly type: 'fax'; readonly side: 'calling' | 'answering'; readonly startMs: number }
  /** Once for each stretch of one tone. `plan`: the country or plan it is of, as in `plans.ts`. */
  | {
      readonly type: 'progress'
      readonly tone: ProgressTone
      readonly plan: string
      readonly startMs: number
    }
  | { readonly type: 'information_tone'; readonly meaning: InformationTone; readonly startMs: number }
  /** Nothing above the noise of a line for a while; `over` when sound came back. */
  | { readonly type: 'silence'; readonly startMs: number; readonly over: boolean }
  /** The sound is cut off at full scale: someone's gain is too high. Once a stretch. */
  | { readonly type: 'clipping'; readonly startMs: number; readonly share: number }
  /** Our own speech comes back so much later and softer: once, when it was first sure. */
  | {
      readonly type: 'echo'
      readonly delayMs: number
      readonly gainDb: number
      readonly atMs: number
    }
  /**
   * We are probably not heard, or do not hear: no packet of the far side came although we send
   * (`nothing_comes`), or its packets hold not even the noise of a line (`only_silence`).
   */
  | {
      readonly type: 'one_way'
      readonly what: 'nothing_comes' | 'only_silence'
      readonly startMs: number
      readonly over: boolean
    }
