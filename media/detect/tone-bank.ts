interface Tables {
  readonly cos: Float64Array
  readonly sin: Float64Array
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
}

/** All detectors of one kind share their tables. */
const tables = new Map<string, Tables>()

/**
 * Computes complex amplitudes of fixed frequencies in blocks of fixed, even length by correlation. The phase is that
 * at the middle of the block: around it a cosine is even and a sine is odd, so that a block is folded there and half of
 * the products suffice. The sums of several blocks can be combined to a longer window after a rotation by `rotationRe`
 * and `rotationIm`.
 */
export class ToneBank {
  readonly count: number
  readonly re: Float64Array
  readonly im: Float64Array
  /** Rotation of each frequency by one block. */
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  /** The folded block: sums and differences of the samples at the same distance from the middle. */
  readonly #even: Float64Array
  readonly #odd: Float64Array

  constructor(hertz: readonly number[], rate: number, samples: number) {
    const { cos, sin, rotationRe, rotationIm } = tablesOf(hertz, rate, samples)
    this.count = hertz.length
    this.re = new Float64Array(this.count)
    this.im = new Float64Array(this.count)
    this.rotationRe = rotationRe
    this.rotationIm = rotationIm
    this.#even = new Float64Array(samples / 2)
    this.#odd = new Float64Array(samples / 2)
    this.#cos = cos
    this.#sin = sin
  }

  /**
   * Measures one block from `from` on and returns its energy. A block with less energy than `least` counts as
   * having no tone, which saves the computation.
   */
  measure(pcm: Int16Array, from: number, least = 0): number {
    const even = this.#even
    const odd = this.#odd
    const half = even.length
    const after = from + half
    const before = after - 1
    let energy = 0
    for (let i = 0; i < half; i++) {
      const right = pcm[after + i] as number
      const left = pcm[before - i] as number
      even[i] = right + left
      odd[i] = right - left
      energy += right * right + left * left
    }
    if (energy < least) {
      this.re.fill(0)
      this.im.fill(0)
      return energy
    }
    const cos = this.#cos
    const sin = this.#sin
    for (let k = 0; k < this.count; k++) {
      let re = 0
      let im = 0
      const table = k * half
      for (let i = 0; i < half; i++) {
        re += (even[i] as number) * (cos[table + i] as number)
        im += (odd[i] as number) * (sin[table + i] as number)
      }
      this.re[k] = re
      this.im[k] = im
    }
    return energy
  }
}

function tablesOf(hertz: readonly number[], rate: number, samples: number): Tables {
  const key = `${rate} ${samples} ${hertz}`
  const known = tables.get(key)
  if (known !== undefined) return known
  const half = samples / 2
  const made: Tables = {
    cos: new Float64Array(hertz.length * half),
    sin: new Float64Array(hertz.length * half),
    rotationRe: Float64Array.from(hertz, (f) => Math.cos((2 * Math.PI * f * samples) / rate)),
    rotationIm: Float64Array.from(hertz, (f) => -Math.sin((2 * Math.PI * f * samples) / rate)),
  }
  hertz.forEach((f, k) => {
    for (let i = 0; i < half; i++) {
      const angle = (2 * Math.PI * f * (i + 0.5)) / rate
      made.cos[k * half + i] = Math.cos(angle)
      made.sin[k * half + i] = -Math.sin(angle)
    }
  })
  tables.set(key, made)
  return made
}
