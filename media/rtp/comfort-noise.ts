import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { openResampler, type Resampler } from '../codec/resampler.js'

/*
 * Comfort noise of RFC 3389: a level in dB below overload, optionally followed by reflection coefficients of
 * the spectrum of the noise.
 */

/** Further coefficients are ignored. The example in the RFC has ten (section 3.2). */
const MAX_ORDER = 12
const OVERLOAD = 32_767
const MAX_LEVEL = 127

/** Level of the noise that Parley sends, which is that of `idleNoiseFrames`. */
const OWN_LEVEL_DB = 71
/** Length of the payloads that Parley sends: a level without coefficients means white noise. */
export const COMFORT_NOISE_PAYLOAD_BYTES = 1

/** Writes the payload that stands for a silent frame of Parley. */
export function writeComfortNoise(into: Uint8Array, offset: number): void {
  into[offset] = OWN_LEVEL_DB
}

/** Generates the comfort noise that the peer describes while it is silent. Allocates nothing. */
export class ComfortNoiseGenerator {
  /** True between the first description and `stop`. */
  active = false
  readonly #rate: SessionRate
  readonly #resampler: Resampler | null
  readonly #narrow: Int16Array
  /** Reflection coefficients and delay line of the lattice filter. */
  readonly #k = new Float64Array(MAX_ORDER)
  readonly #delayed = new Float64Array(MAX_ORDER + 1)
  #order = 0
  #amplitude = 0
  #state = 0x1234567

  /** @param noise sample rate of the coefficients, which is that of the codec (Hz) */
  constructor(session: SessionRate, noise: SessionRate) {
    this.#rate = noise
    this.#resampler = noise === session ? null : openResampler(noise, session)
    this.#narrow = new Int16Array((noise / 1000) * FRAME_MS)
  }

  get rate(): SessionRate {
    return this.#rate
  }

  /** Takes a comfort noise payload. A payload without a level is ignored. */
  update(data: Uint8Array, offset: number, length: number): void {
    if (length < 1) return
    this.active = true
    this.#order = Math.min(length - 1, MAX_ORDER)
    // Reduces the power of the input by the gain of the filter.
    let power = (OVERLOAD * 10 ** (-Math.min(data[offset] as number, MAX_LEVEL) / 20)) ** 2
    for (let i = 0; i < this.#order; i++) {
      const k = (258 * ((data[offset + 1 + i] as number) - 127)) / 32_768
      this.#k[i] = Math.max(-0.98, Math.min(0.98, k))
      power *= 1 - (this.#k[i] as number) ** 2
    }
    // The amplitude of a uniform distribution with that power.
    this.#amplitude = Math.sqrt(3 * power)
  }

  stop(): void {
    this.active = false
    this.#delayed.fill(0)
  }

  /** Writes the next 20 ms at the session rate. */
  pull(into: Int16Array): void {
    const out = this.#resampler === null ? into : this.#narrow
    for (let i = 0; i < out.length; i++) {
      this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
      const sample = this.#shape((this.#state / 2 ** 31 - 1) * this.#amplitude)
      out[i] = Math.max(-32_768, Math.min(32_767, Math.round(sample)))
    }
    if (this.#resampler !== null) into.set(this.#resampler.process(out))
  }

  /** Applies the all-pole lattice filter of the reflection coefficients. */
  #shape(input: number): number {
    const delayed = this.#delayed
    let forward = input
    for (let i = this.#order - 1; i >= 0; i--) {
      const k = this.#k[i] as number
      const backward = delayed[i] as number
      forward -= k * backward
      delayed[i + 1] = backward + k * forward
    }
    delayed[0] = forward
    return forward
  }
}
