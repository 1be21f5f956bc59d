import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** A stretch of one gain: 2.5 ms. */
const BLOCKS = 8
/** -1 dBFS: what the gain alone keeps the mix below. */
export const CEILING = 29_204
/** What is left above it for the one stretch whose peak came without warning. */
const ROOM = 32_767 - CEILING
/** The gain comes back by 0.15 dB a stretch: 6 dB in a tenth of a second. */
const RELEASE = 1.0174
const REST = RELEASE ** BLOCKS

/**
 * Brings a sum of voices into 16 bits without wrap or hard clip. The gain of a stretch is known from
 * its own peak and the next one's, so within a frame it is down before the peak comes; a peak in the
 * first stretch is bent smoothly instead. A mix that fits passes unchanged. No allocation.
 */
export class Limiter {
  readonly #samples: number
  /** Gain each stretch needs. */
  readonly #neededGain = new Float64Array(BLOCKS)
  #gain = 1

  constructor(rate: SessionRate) {
    this.#samples = ((rate / 1000) * FRAME_MS) / BLOCKS
  }

  /** Nothing is being held down: a frame that needs no mixing may go past it. */
  get idle(): boolean {
    return this.#gain === 1
  }

  /** A frame of silence went by. */
  silentFrame(): void {
    if (this.#gain < 1) this.#gain = Math.min(1, this.#gain * REST)
  }

  /** One frame: `mix` in units of a 16-bit sample, of any height. */
  process(mix: Float32Array, out: Int16Array): void {
    const length = this.#samples
    const needs = this.#neededGain
    let quiet = this.#gain === 1
    for (let block = 0; block < BLOCKS; block++) {
      const peak = peakOf(mix, block * length, (block + 1) * length)
      needs[block] = peak > CEILING ? CEILING / peak : 1
      if (peak > CEILING) quiet = false
    }
    if (quiet) {
      for (let i = 0; i < out.length; i++) out[i] = Math.round(mix[i] as number)
      return
    }
    for (let block = 0; block < BLOCKS; block++) {
      const need = needs[block] as number
      const next = block + 1 < BLOCKS ? (needs[block + 1] as number) : need
      const until = Math.min(need, next, this.#gain * RELEASE)
      this.#ramp(mix, out, block * length, until)
    }
  }

  /** One stretch from `at` on, its gain going straight to `until`. */
  #ramp(mix: Float32Array, out: Int16Array, at: number, until: number): void {
    const step = (until - this.#gain) / this.#samples
    let gain = this.#gain
    for (let i = at; i < at + this.#samples; i++) {
      gain += step
      out[i] = Math.round(softClip((mix[i] as number) * gain))
    }
    this.#gain = until
  }
}

/** The sample itself up to the ceiling; above it a curve of the same slope that never reaches 16 bits. */
export function softClip(sample: number): number {
  const size = Math.abs(sample)
  if (size <= CEILING) return sample
  const over = (size - CEILING) / ROOM
  return Math.sign(sample) * (CEILING + (ROOM * over) / (1 + over))
}

function peakOf(mix: Float32Array, from: number, to: number): number {
  let peak = 0
  for (let i = from; i < to; i++) {
    const size = Math.abs(mix[i] as number)
    if (size > peak) peak = size
  }
  return peak
}
