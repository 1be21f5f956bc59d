interface Tables {
  readonly cos: Float64Array
  readonly sin: Float64Array
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
}

/** All detectors of one kind share their tables. */
const tables = new Map<string, Tables>()

/** Fixed frequencies, whose complex amplitudes are measured in blocks of fixed, even length. */
export class ToneBank {
  readonly count: number
  readonly samples: number
  /** Rotation of each frequency by one block. */
  readonly rotationRe: Float64Array
  readonly rotationIm: Float64Array
  /** Values from the middle of a block outwards, one frequency after the other. */
  readonly cos: Float64Array
  readonly sin: Float64Array

  constructor(hertz: readonly number[], rate: number, samples: number) {
    const { cos, sin, rotationRe, rotationIm } = tablesOf(hertz, rate, samples)
    this.count = hertz.length
    this.samples = samples
    this.rotationRe = rotationRe
    this.rotationIm = rotationIm
    this.cos = cos
    this.sin = sin
  }
}

/**
 * Measures the complex amplitudes of a bank's frequencies in one block by correlation. The phase is that at the middle of
 * the block: around it a cosine is even and a sine is odd, so that a block is folded there and half of the products
 * suffice. The sums of several blocks can be combined to a longer window after a rotation by `rotationRe` and
 * `rotationIm`. Amplitudes are computed as far as they are needed, because most blocks of a call fail at the first few.
 */
export class ToneBlock {
  readonly re: Float64Array
  readonly im: Float64Array
  /** Sum of the squares of the samples. */
  energy = 0
  readonly #bank: ToneBank
  /** The folded block: sums and differences of the samples at the same distance from the middle. */
  readonly #even: Float64Array
  readonly #odd: Float64Array
  /** Number of frequencies whose amplitudes are known. */
  #measured: number
  /** All amplitudes are 0. */
  #isZero = true

  constructor(bank: ToneBank) {
    this.#bank = bank
    this.re = new Float64Array(bank.count)
    this.im = new Float64Array(bank.count)
    this.#even = new Float64Array(bank.samples / 2)
    this.#odd = new Float64Array(bank.samples / 2)
    this.#measured = bank.count
  }

  /**
   * Takes the block from `from` on. A block with less energy than `least` counts as having no tone, which saves the
   * computation.
   */
  load(pcm: Int16Array, from: number, least = 0): void {
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
    this.energy = energy
    this.#measured = 0
    if (energy >= least) return
    this.#measured = this.#bank.count
    // Most blocks of a call are silent like the one before.
    if (this.#isZero) return
    this.#isZero = true
    this.re.fill(0)
    this.im.fill(0)
  }

  /** Computes the amplitudes of the first `count` frequencies; those that are known cost nothing. */
  measure(count = this.#bank.count): void {
    const even = this.#even
    const odd = this.#odd
    const half = even.length
    const { cos, sin } = this.#bank
    if (this.#measured < count) this.#isZero = false
    for (; this.#measured < count; this.#measured++) {
      const table = this.#measured * half
      let re = 0
      let im = 0
      for (let i = 0; i < half; i++) {
        re += (even[i] as number) * (cos[table + i] as number)
        im += (odd[i] as number) * (sin[table + i] as number)
      }
      this.re[this.#measured] = re
      this.im[this.#measured] = im
    }
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
