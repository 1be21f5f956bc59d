interface Tables {
  readonly cos: Float64Array
  readonly sin: Float64Array
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
}

/** All detectors of one kind share their tables. */
const tables = new Map<string, Tables>()

/**
 * Computes complex amplitudes of fixed frequencies in blocks of fixed length by correlation. The sums of
 * several blocks can be combined to a longer window after a rotation by `rotationRe` and `rotationIm`.
 */
export class ToneBank {
  readonly count: number
  readonly re: Float64Array
  readonly im: Float64Array
  /** Rotation of each frequency by one block. */
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
  readonly #samples: number
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  readonly #block: Float64Array

  constructor(hertz: readonly number[], rate: number, samples: number) {
    const { cos, sin, rotationRe, rotationIm } = tablesOf(hertz, rate, samples)
    this.count = hertz.length
    this.re = new Float64Array(this.count)
    this.im = new Float64Array(this.count)
    this.rotationRe = rotationRe
    this.rotationIm = rotationIm
    this.#samples = samples
    this.#block = new Float64Array(samples)
    this.#cos = cos
    this.#sin = sin
  }

  /**
   * Measures one block from `from` on and returns its energy. A block with less energy than `least` counts as
   * having no tone, which saves the computation.
   */
  measure(pcm: Int16Array, from: number, least = 0): number {
    const samples = this.#samples
    const block = this.#block
    let energy = 0
    for (let i = 0; i < samples; i++) {
      const sample = pcm[from + i] as number
      block[i] = sample
      energy += sample * sample
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
      const table = k * samples
      for (let i = 0; i < samples; i++) {
        const sample = block[i] as number
        re += sample * (cos[table + i] as number)
        im += sample * (sin[table + i] as number)
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
  const made: Tables = {
    cos: new Float64Array(hertz.length * samples),
    sin: new Float64Array(hertz.length * samples),
    rotationRe: Float64Array.from(hertz, (f) => Math.cos((2 * Math.PI * f * samples) / rate)),
    rotationIm: Float64Array.from(hertz, (f) => -Math.sin((2 * Math.PI * f * samples) / rate)),
  }
  hertz.forEach((f, k) => {
    for (let i = 0; i < samples; i++) {
      made.cos[k * samples + i] = Math.cos((2 * Math.PI * f * i) / rate)
      made.sin[k * samples + i] = -Math.sin((2 * Math.PI * f * i) / rate)
    }
  })
  tables.set(key, made)
  return made
}
