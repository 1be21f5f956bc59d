/** The meter uses the fastest packet of every 5 s, over the last two minutes. */
const BIN_S = 5
const BINS = 24
/** A line through less than half a minute is not reliable. */
const FEWEST = 6

/**
 * Measures the drift of the sender's clock against ours from the transit of the fastest packets. Accurate to
 * about 10 ppm under jitter.
 */
export class DriftMeter {
  readonly #bin: number
  readonly #minima = new Float64Array(BINS)
  #first = 0
  #count = 0
  #current = -1
  #minimum = 0

  /** @param rate unit of the values (samples per second) */
  constructor(rate: number) {
    this.#bin = rate * BIN_S
  }

  /** Takes a packet's transit (arrival less position in the stream) and arrival. */
  observe(transit: number, arrival: number): void {
    const bin = Math.floor(arrival / this.#bin)
    if (bin === this.#current) {
      if (transit < this.#minimum) this.#minimum = transit
      return
    }
    if (this.#current !== -1) {
      this.#keep()
      // An empty bin would bend the line.
      if (bin !== this.#current + 1) this.restart()
    }
    this.#current = bin
    this.#minimum = transit
  }

  /** Begins another stream. */
  restart(): void {
    this.#first = 0
    this.#count = 0
    this.#current = -1
  }

  /** Drift, positive when the sender's clock is fast; 0 while unknown. Least squares through the minima. */
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
