import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** Blocks per frame, 2.5 ms each. A block has one target gain. */
const BLOCKS = 8
/** The gain keeps the mix below this level, -1 dBFS. */
export const CEILING = 29_204
/** Headroom for a peak in the first block, for which the gain could not prepare. */
const ROOM = 32_767 - CEILING
/** The gain recovers by 0.15 dB per block, which is 6 dB in 0.1 s. */
const RELEASE = 1.0174
const REST = RELEASE ** BLOCKS

/**
 * Limits a mix to 16 bits without wrap-around or hard clipping. The gain of a block follows from its own peak
 * and from that of the next block, so the gain is down before a peak arrives. A peak in the first block is
 * clipped softly. A mix below the ceiling passes unchanged. Allocates nothing.
 */
export class Limiter {
  readonly #samples: number
  /** The gain that each block needs. */
  readonly #neededGain = new Float64Array(BLOCKS)
  #gain = 1

  constructor(rate: SessionRate) {
    this.#samples = ((rate / 1000) * FRAME_MS) / BLOCKS
  }

  /** The gain is 1: a frame that needs no mixing may bypass the limiter. */
  get idle(): boolean {
    return this.#gain === 1
  }

  /** Lets the gain recover over a silent frame. */
  silentFrame(): void {
    if (this.#gain < 1) this.#gain = Math.min(1, this.#gain * REST)
  }

  /** Limits one frame. `mix` holds 16-bit sample values of any size. */
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

  /** Applies a linear gain ramp that ends at `until` to one block. */
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

/** Returns the sample itself up to the ceiling, and above it a smooth curve that stays within 16 bits. */
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
