import type { Digit, DtmfTiming, SessionRate } from '../base/frame.js'

/** One step of a cadence (ms). */
export interface CadenceStep {
  readonly on: number
  readonly off: number
}

export interface ToneSpec {
  /** Sine waves that sound together, with the level of each (dBm0). */
  readonly parts: readonly { readonly hertz: number; readonly dbm0: number }[]
  /** Frequency of a full amplitude modulation (Hz). */
  readonly tremoloHertz?: number
  /** An empty cadence is a continuous tone. */
  readonly cadence: readonly CadenceStep[]
  /** Repetitions of the cadence; null repeats it forever. */
  readonly times: number | null
}

const LEVEL = -13
const plain400 = [{ hertz: 400, dbm0: LEVEL }]

/** Call progress tones of India (ITU-T E.180 Supplement 2), and the beep of Parley. */
export const TONES = {
  ringback: {
    parts: plain400,
    tremoloHertz: 25,
    cadence: [
      { on: 400, off: 200 },
      { on: 400, off: 2000 },
    ],
    times: null,
  },
  busy: { parts: plain400, cadence: [{ on: 750, off: 750 }], times: null },
  congestion: { parts: plain400, cadence: [{ on: 250, off: 250 }], times: null },
  unobtainable: { parts: plain400, cadence: [{ on: 2500, off: 500 }], times: null },
  beep: { parts: [{ hertz: 1000, dbm0: -16 }], cadence: [{ on: 200, off: 0 }], times: 1 },
} as const satisfies Readonly<Record<string, ToneSpec>>

export type ToneName = keyof typeof TONES

const LOW = [697, 770, 852, 941]
const HIGH = [1209, 1336, 1477, 1633]
const KEYS = '123A456B789C*0#D'
/** Levels of ITU-T Q.23. The high group is 2 dB louder, because lines attenuate it more. */
const LOW_DBM0 = -10
const HIGH_DBM0 = -8
/** The timing of the RFC 4733 events: well above the 40 ms of ITU-T Q.24, for slow receivers. */
const DTMF_TIMING: DtmfTiming = { toneMs: 160, gapMs: 100 }

/** Returns the two tones of a digit, played once, and the pause after it. */
export function dtmfTone(digit: Digit, { toneMs, gapMs } = DTMF_TIMING): ToneSpec {
  const key = KEYS.indexOf(digit)
  return {
    parts: [
      { hertz: LOW[key >> 2] as number, dbm0: LOW_DBM0 },
      { hertz: HIGH[key & 3] as number, dbm0: HIGH_DBM0 },
    ],
    cadence: [{ on: toneMs, off: gapMs }],
    times: 1,
  }
}

/** Each tone fades in and out over 4 ms: no click, and no loss of time for a detector. */
const EDGE_MS = 4
const TABLE_BITS = 12
const TABLE = Float32Array.from({ length: 1 << TABLE_BITS }, (_, i) =>
  Math.sin((2 * Math.PI * i) / (1 << TABLE_BITS)),
)
/** A full-scale sine has +3.14 dBm0 in A-law (G.711). */
const FULL_SCALE_DBM0 = 3.14
const MAX_PARTS = 2

/** Generates a tone with continuous phase across frames. Only `play` allocates. */
export class ToneGenerator {
  readonly #rate: SessionRate
  readonly #edge: number
  readonly #phases = new Float64Array(MAX_PARTS)
  readonly #steps = new Float64Array(MAX_PARTS)
  readonly #levels = new Float64Array(MAX_PARTS)
  #tremolo = 0
  #tremoloStep = 0
  #spec: ToneSpec | null = null
  #cadenceIndex = 0
  #rounds = 0
  /** Samples since the start of the cadence step. */
  #at = 0
  #on = 0
  #off = 0

  constructor(rate: SessionRate) {
    this.#rate = rate
    this.#edge = (rate / 1000) * EDGE_MS
  }

  /** A tone is playing, including the pauses in its cadence. */
  get playing(): boolean {
    return this.#spec !== null
  }

  /** Starts a tone and replaces the current one. At most two parts. */
  play(spec: ToneSpec): void {
    this.#spec = spec
    this.#cadenceIndex = 0
    this.#rounds = 0
    this.#phases.fill(0)
    this.#steps.fill(0)
    this.#levels.fill(0)
    spec.parts.forEach(({ hertz, dbm0 }, i) => {
      this.#steps[i] = hertz / this.#rate
      this.#levels[i] = 32767 * 10 ** ((dbm0 - FULL_SCALE_DBM0) / 20)
    })
    this.#tremolo = 0
    this.#tremoloStep = (spec.tremoloHertz ?? 0) / this.#rate
    this.#begin()
  }

  stop(): void {
    this.#spec = null
  }

  /** Writes the next samples. Returns false, and writes zeros, when all of them are silent. */
  pull(into: Int16Array): boolean {
    let sounding = false
    let filled = 0
    while (filled < into.length && this.#spec !== null) {
      const off = this.#at >= this.#on
      const left = (off ? this.#on + this.#off : this.#on) - this.#at
      const count = Math.min(into.length - filled, left)
      if (off) into.fill(0, filled, filled + count)
      else {
        this.#sound(into, filled, count)
        sounding = true
      }
      filled += count
      this.#at += count
      if (this.#at >= this.#on + this.#off) this.#next()
    }
    if (filled < into.length) into.fill(0, filled)
    return sounding
  }

  #begin(): void {
    const step = this.#spec?.cadence[this.#cadenceIndex]
    this.#at = 0
    this.#on = step === undefined ? Number.POSITIVE_INFINITY : (step.on * this.#rate) / 1000
    this.#off = step === undefined ? 0 : (step.off * this.#rate) / 1000
  }

  #next(): void {
    const spec = this.#spec
    if (spec === null) return
    this.#cadenceIndex++
    if (this.#cadenceIndex >= spec.cadence.length) {
      this.#cadenceIndex = 0
      this.#rounds++
      if (spec.times !== null && this.#rounds >= spec.times) {
        this.#spec = null
        return
      }
    }
    this.#begin()
  }

  #sound(into: Int16Array, from: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const at = this.#at + i
      let sample = 0
      for (let part = 0; part < MAX_PARTS; part++) {
        sample += (this.#levels[part] as number) * sine(this.#phases[part] as number)
        this.#phases[part] = ((this.#phases[part] as number) + (this.#steps[part] as number)) % 1
      }
      if (this.#tremoloStep > 0) {
        sample *= 0.5 - 0.5 * sine((this.#tremolo + 0.25) % 1)
        this.#tremolo = (this.#tremolo + this.#tremoloStep) % 1
      }
      const edge = Math.min(1, (at + 1) / this.#edge, (this.#on - at) / this.#edge)
      into[from + i] = Math.round(sample * edge)
    }
  }
}

/** Returns the sine of `phase` (turns, 0 to below 1). */
function sine(phase: number): number {
  return TABLE[(phase * (1 << TABLE_BITS)) | 0] as number
}
