/** The quickest packet of every 5 s counts, of the last two minutes. */
const BIN_S = 5
const BINS = 24
/** A line through less than half a minute says nothing. */
const FEWEST = 6

/**
 * How fast the sender's clock runs against ours, from how the transit of the quickest packets creeps.
 * Good to some 10 ppm on a line with jitter.
 */
export class DriftMeter {
  readonly #bin: number
  readonly #minima = new Float64Array(BINS)
  #first = 0
  #count = 0
  #current = -1
  #minimum = 0

  /** `rate` is the unit of the values: samples a second. */
  constructor(rate: number) {
    this.#bin = rate * BIN_S
  }

  /** A packet's transit (arrival less its place in the stream) and arrival. */
  observe(transit: number, arrival: number): void {
    const bin = Math.floor(arrival / this.#bin)
    if (bin === this.#current) {
      if (transit < this.#minimum) this.#minimum = transit
      return
    }
    if (this.#current !== -1) {
      this.#keep()
      // A bin without packets would bend the line.
      if (bin !== this.#current + 1) this.restart()
    }
    this.#current = bin
    this.#minimum = transit
  }

  /** Another stream. */
  restart(): void {
    this.#first = 0
    this.#count = 0
    this.#current = -1
  }

  /** Positive when the sender's clock is fast; 0 while unknown. Least squares through the minima. */
  get ppm(): number {
    const count = this.#count
    if (count < FEWEST) return 0
    const middle = (count - 1) / 2
    let product = 0
    let square = 0
    for (let i = 0; i < count; i++) {
      product += (i - middle) * (this.#minima[(this.#first + i) % BINS] as number)
      square += (i - middle) ** 2
    }
    return (-1e6 * product) / square / this.#bin
  }

  #keep(): void {
    this.#minima[(this.#first + this.#count) % BINS] = this.#minimum
    if (this.#count < BINS) this.#count++
    else this.#first = (this.#first + 1) % BINS
  }
}
