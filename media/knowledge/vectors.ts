/*
 * Vectors of passages as one byte a dimension. The directions of vectors are compared, so their lengths do not matter; the
 * rounding changes a cosine by less than 0.01.
 */

/** Vectors of all passages of an index, one after the other. */
export interface PassageVectors {
  /** Name of the model and the settings that made them. */
  readonly model: string
  readonly dimensions: number
  readonly bytes: Int8Array
}

/** Pairs of passages that show how alike two texts about different things are for a model. */
const PAIRS = 2000
/** Step between the two passages of a pair: a prime, so that the pairs differ. */
const STEP = 7919
/** Share of a question that a passage covers, for each step above what unrelated texts have. */
const GAIN = 1.5

/** Below this share, a passage is no nearer than unrelated texts may be by chance. */
const MIN_SHARE = 0.1

/** Rounds a vector to bytes. Throws RangeError for one that is empty, without a direction or not finite. */
export function toBytes(vector: ArrayLike<number>): Int8Array {
  let largest = 0
  for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i] ?? 0))
  if (!(largest > 0) || !Number.isFinite(largest)) throw new RangeError('a vector has no direction')
  const bytes = new Int8Array(vector.length)
  for (let i = 0; i < vector.length; i++) bytes[i] = Math.round((127 * (vector[i] ?? 0)) / largest)
  return bytes
}

/** The vectors of an index, made ready for searches. */
export class VectorList {
  readonly model: string
  readonly #dimensions: number
  readonly #bytes: Int8Array
  /** One divided by the length of each vector. */
  readonly #inverse: Float32Array
  /** Cosine that texts about different things may have: that of passages with each other, and a deviation more. */
  readonly #background: number

  constructor({ model, dimensions, bytes }: PassageVectors) {
    this.model = model
    this.#dimensions = dimensions
    this.#bytes = bytes
    const count = bytes.length / dimensions
    if (!Number.isInteger(count)) throw new RangeError('the vectors have different lengths')
    this.#inverse = Float32Array.from({ length: count }, (_, at) => {
      const square = this.#product(bytes, at * dimensions, at)
      return square === 0 ? 0 : 1 / Math.sqrt(square)
    })
    const cosines: number[] = []
    for (let at = 0; at < Math.min(count, PAIRS); at++) {
      const first = (at * STEP) % count
      const second = (first + 1 + ((at * STEP * STEP) % Math.max(1, count - 1))) % count
      if (first !== second)
        cosines.push(this.#cosine(bytes, first * dimensions, this.#inverse[first] ?? 0, second))
    }
    const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / Math.max(1, cosines.length)
    const squares = cosines.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0)
    this.#background = mean + Math.sqrt(squares / Math.max(1, cosines.length))
  }

  /**
   * Returns the share of a question that each of the nearest passages covers, the nearest first: how much nearer it is
   * than passages are to each other, whatever cosines the model has for unrelated texts. Returns none for a vector of
   * another length.
   */
  nearest(question: Int8Array, limit: number): readonly (readonly [id: number, share: number])[] {
    if (question.length !== this.#dimensions) return []
    let square = 0
    for (const value of question) square += value * value
    const inverse = square === 0 ? 0 : 1 / Math.sqrt(square)
    const found: (readonly [number, number])[] = []
    for (let at = 0; at < this.#inverse.length; at++) {
      const share = this.#shareOf(this.#cosine(question, 0, inverse, at))
      if (share >= MIN_SHARE) found.push([at, share])
    }
    return found.sort(([a, x], [b, y]) => y - x || a - b).slice(0, limit)
  }

  #shareOf(cosine: number): number {
    return Math.min(1, (GAIN * (cosine - this.#background)) / Math.max(0.01, 1 - this.#background))
  }

  #cosine(vector: Int8Array, from: number, inverse: number, at: number): number {
    return this.#product(vector, from, at) * inverse * (this.#inverse[at] ?? 0)
  }

  #product(vector: Int8Array, from: number, at: number): number {
    const bytes = this.#bytes
    const offset = at * this.#dimensions
    let sum = 0
    for (let i = 0; i < this.#dimensions; i++) sum += (vector[from + i] ?? 0) * (bytes[offset + i] ?? 0)
    return sum
  }
}
