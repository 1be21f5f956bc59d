import { timestampDelta } from './sequence.js'

/** The quickest packet of the last 8 s is taken for undelayed; drift of the sender's clock follows. */
const BUCKETS = 8
const BUCKET_SAMPLES = 8000
/**
 * A packet this much earlier than any before it comes from a jump of its timestamps, not from the
 * network: nothing arrives before it was sent.
 */
const MAX_EARLY = 1600

/**
 * Puts the timestamps of one RTP stream on our own time line: position = timestamp + smallest transit
 * seen lately, which takes the jitter of the network out. All values in samples of the RTP clock
 * (8 kHz); arrival is counted from session start.
 */
export class RtpTimeline {
  /** Samples by which the last observed packet came later than the quickest ones. */
  delay = 0
  /** RFC 3550 interarrival jitter (appendix A.8), in samples. */
  jitter = 0
  readonly #minima = new Float64Array(BUCKETS).fill(Number.POSITIVE_INFINITY)
  #bucket = 0
  #offset = 0
  #lastTransit = 0
  #last = 0
  #started = false

  get started(): boolean {
    return this.#started
  }

  /** Takes a packet; its unwrapped timestamp, or -1 when its timestamps jumped: start anew. */
  observe(timestamp: number, arrival: number): number {
    if (!this.#started) {
      this.#started = true
      // Far from zero, so that packets from before the first stay positive.
      this.#last = 2 ** 32 + timestamp
      this.#bucket = Math.floor(arrival / BUCKET_SAMPLES)
      this.#lastTransit = arrival - this.#last
      this.#offset = this.#lastTransit
    }
    const extended = this.#last + timestampDelta(timestamp, this.#last % 2 ** 32)
    const transit = arrival - extended
    if (transit < this.#offset - MAX_EARLY) return -1
    if (extended > this.#last) this.#last = extended
    this.#rotate(arrival)
    const slot = this.#bucket % BUCKETS
    if (transit < (this.#minima[slot] as number)) this.#minima[slot] = transit
    this.#offset = this.#smallest()
    this.delay = transit - this.#offset
    this.jitter += (Math.abs(transit - this.#lastTransit) - this.jitter) / 16
    this.#lastTransit = transit
    return extended
  }

  /** Where on our time line a timestamp belongs. */
  position(extended: number): number {
    return extended + this.#offset
  }

  /** The timestamp that an undelayed packet arriving at this position has. */
  timestampAt(position: number): number {
    return position - this.#offset
  }

  /** Forgets the stream, keeps the jitter figure. */
  restart(): void {
    this.#started = false
    this.#minima.fill(Number.POSITIVE_INFINITY)
    this.delay = 0
  }

  #rotate(arrival: number): void {
    const bucket = Math.floor(arrival / BUCKET_SAMPLES)
    const steps = Math.min(bucket - this.#bucket, BUCKETS)
    for (let i = 1; i <= steps; i++) this.#minima[(this.#bucket + i) % BUCKETS] = Number.POSITIVE_INFINITY
    if (bucket > this.#bucket) this.#bucket = bucket
  }

  #smallest(): number {
    let smallest = Number.POSITIVE_INFINITY
    for (let i = 0; i < BUCKETS; i++) {
      const minimum = this.#minima[i] as number
      if (minimum < smallest) smallest = minimum
    }
    return smallest
  }
}
