import type { Digit } from '../base/frame.js'

/** Network tones that signal the progress of a call. */
export type ProgressTone = 'ringback' | 'busy' | 'congestion' | 'unobtainable'

/** Meaning of the special information tones before an announcement (ITU-T E.180, Bellcore SR-2275). */
export type InformationTone = 'intercept' | 'vacant_number' | 'reorder' | 'no_circuit' | 'unknown'

/** An event of a detector. Times are session times (ms) of the sound itself, not of its detection. */
export type DetectorEvent =
  /** A DTMF digit in the audio, reported at the end of its tone. */
  | {
      readonly type: 'digit'
      readonly digit: Digit
      readonly startMs: number
      readonly durationMs: number
    }
  /** The tone after which an answering machine records, reported at its end. */
  | {
      readonly type: 'beep'
      readonly hertz: number
      readonly startMs: number
      readonly durationMs: number
    }
  /** A fax machine that calls (CNG, 1100 Hz) or answers (CED and ANSam, 2100 Hz). */
  | { readonly type: 'fax'; readonly side: 'calling' | 'answering'; readonly startMs: number }
  /** Reported once per continuous tone. `plan` is a key of `tone-plans.ts`. */
  | {
      readonly type: 'progress'
      readonly tone: ProgressTone
      readonly plan: string
      readonly startMs: number
    }
  | { readonly type: 'information_tone'; readonly meaning: InformationTone; readonly startMs: number }
  /** Nothing above line noise for a while. `over` is true when sound returned. */
  | { readonly type: 'silence'; readonly startMs: number; readonly over: boolean }
  /** Audio is clipped at full scale, because a gain is too high. Reported once per occurrence. */
  | { readonly type: 'clipping'; readonly startMs: number; readonly share: number }
  /** The agent's speech returns as an echo. Reported once. */
  | {
      readonly type: 'echo'
      readonly delayMs: number
      readonly gainDb: number
      readonly atMs: number
    }
  /**
   * Audio probably flows in one direction only: no packet arrives although Parley sends (`nothing_comes`), or
   * the packets contain not even line noise (`only_silence`).
   */
  | {
      readonly type: 'one_way'
      readonly what: 'nothing_comes' | 'only_silence'
      readonly startMs: number
      readonly over: boolean
    }
