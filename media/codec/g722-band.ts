/*
 * One sub-band of ITU-T G.722, shared by encoder and decoder: the adaptive quantizer scale and the predictor
 * with two poles and six zeros. Capital names in comments are the block names of the Recommendation. All
 * arithmetic is integer, with shifts and saturation exactly as in the Recommendation.
 */

/** Logarithmic to linear scale factors, one octave (table for ILA and ILB). */
const SCALE = Int32Array.from({ length: 32 }, (_, i) => Math.round(2048 * 2 ** (i / 32)))

/** Constants of the scale factor of one band. */
export interface BandScale {
  /** Steps of the logarithmic scale, indexed by code. */
  readonly steps: Int32Array
  /** Maximum of the logarithmic scale. */
  readonly limit: number
  readonly shift: number
  /** Initial quantizer step. */
  readonly start: number
}

export const LOW_BAND: BandScale = {
  steps: new Int32Array([-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60]),
  limit: 18432,
  shift: 8,
  start: 32,
}

export const HIGH_BAND: BandScale = {
  steps: new Int32Array([798, -214, 798, -214]),
  limit: 22528,
  shift: 10,
  start: 8,
}

export class G722Band {
  /** Prediction of the next sample (SL, SH). */
  predicted = 0
  /** Quantizer step (DETL, DETH). */
  step: number
  readonly #scale: BandScale
  #log = 0
  #zeroPart = 0
  // Poles, the last two reconstructed samples, and the signs for the adaptation.
  #a1 = 0
  #a2 = 0
  #r1 = 0
  #r2 = 0
  #p1 = 0
  #p2 = 0
  /** Zeros 1 to 6 and the last six differences. */
  readonly #b = new Int32Array(6)
  readonly #d = new Int32Array(6)

  constructor(scale: BandScale) {
    this.#scale = scale
    this.step = scale.start
  }

  /** Updates the scale (LOGSC, SCALE) and the predictor with a quantized difference and its code. */
  adapt(code: number, difference: number): void {
    const { steps, limit, shift } = this.#scale
    const log = ((this.#log * 127) >> 7) + (steps[code] as number)
    this.#log = Math.max(0, Math.min(limit, log))
    const mantissa = SCALE[(this.#log >> 6) & 31] as number
    const right = shift - (this.#log >> 11)
    this.step = (right < 0 ? mantissa << -right : mantissa >> right) << 2
    this.#predict(difference)
  }

  #predict(difference: number): void {
    const r0 = saturate(this.predicted + difference) // RECONS
    const p0 = saturate(this.#zeroPart + difference) // PARREC
    this.#adaptPoles(p0)
    this.#r2 = this.#r1
    this.#r1 = r0
    this.#p2 = this.#p1
    this.#p1 = p0
    // FILTEP
    const poles = saturate(
      (Math.imul(this.#a1, saturate(this.#r1 << 1)) >> 15) +
        (Math.imul(this.#a2, saturate(this.#r2 << 1)) >> 15),
    )
    this.#zeroPart = this.#zeros(difference)
    this.predicted = saturate(poles + this.#zeroPart) // PREDIC
  }

  /** UPPOL2 and UPPOL1: the signs of the last partial reconstructions move the poles. */
  #adaptPoles(p0: number): void {
    const same1 = p0 < 0 === this.#p1 < 0
    const same2 = p0 < 0 === this.#p2 < 0
    const turn = saturate(this.#a1 << 2)
    const pull = same1 ? Math.min(-turn, 32767) : turn
    let a2 = (same2 ? 128 : -128) + (pull >> 7) + (Math.imul(this.#a2, 32512) >> 15)
    a2 = Math.max(-12288, Math.min(12288, a2))
    let a1 = saturate((same1 ? 192 : -192) + (Math.imul(this.#a1, 32640) >> 15))
    const limit = saturate(15360 - a2)
    a1 = Math.max(-limit, Math.min(limit, a1))
    this.#a1 = a1
    this.#a2 = a2
  }

  /** UPZERO, DELAYA and FILTEZ in one loop. */
  #zeros(difference: number): number {
    const b = this.#b
    const d = this.#d
    const gain = difference === 0 ? 0 : 128
    let sum = 0
    let newer = difference
    for (let i = 0; i < 6; i++) {
      const delayed = d[i] as number
      const pull = delayed < 0 === difference < 0 ? gain : -gain
      const zero = saturate(pull + (Math.imul(b[i] as number, 32640) >> 15))
      b[i] = zero
      d[i] = newer
      sum = (sum + (Math.imul(zero, saturate(newer << 1)) >> 15)) | 0
      newer = delayed
    }
    return saturate(sum)
  }
}

/** Saturates to 16 bits. */
export function saturate(value: number): number {
  return Math.max(-32768, Math.min(32767, value))
}
