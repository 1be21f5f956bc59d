import type { SessionRate } from '../../base/frame.js'
import { DriftMeter } from './clock-drift.js'
import { timestampDelta } from './sequence.js'

/** The quickest packet of the last 8 s is taken for undelayed; drift of the sender's clock follows. */
const BUCKETS = 8
/**
 * A packet this much earlier than any before it comes from a jump of its timestamps, not from the
 * network: nothing arrives before it was sent.
 */
const MAX_EARLY_S = 0.2

/** Place of a stream's first packet: far from zero, so that those from before it stay positive. */
const BASE = 2 ** 32

/**
 * Puts the timestamps of one RTP stream on our own time line: position = timestamp + smallest transit
 * seen lately, which takes the jitter of the network out. Everything but the timestamps that go in is in
 * samples of the session's rate; arrival is counted from session start.
 */
export class RtpTimeline {
  /** Samples by which the last observed packet came later than the quickest ones. */
  delay = 0
  /** RFC 3550 interarrival jitter (appendix A.8), in samples. */
  jitter = 0
  readonly #rate: SessionRate
  readonly #maxEarly: number
  readonly #drift: DriftMeter
  /** Session samples per tick of the RTP clock. */
  #scale: number
  readonly #minima = new Float64Array(BUCKETS).fill(Number.POSITIVE_INFINITY)
  #bucket = 0
  #offset = 0
  #lastTransit = 0
  /** Unwrapped, in ticks of the RTP clock. */
  #last = 0
  #first = 0
  #started = false

  constructor(rate: SessionRate = 8000) {
    this.#rate = rate
    this.#maxEarly = rate * MAX_EARLY_S
    this.#drift = new DriftMeter(rate)
    this.#scale = rate / 8000
  }

  /** How fast the sender's clock runs against ours; 0 while unknown. */
  get driftPpm(): number {
    return this.#drift.ppm
  }

  /** `jitter` in ticks of the RTP clock, as RTCP reports it. */
  get jitterTicks(): number {
    return this.jitter / this.#scale
  }

  get started(): boolean {
    return this.#started
  }

  /** How fast the timestamps that come count; true when that changed, which is another stream. */
  setClock(clockRate: number): boolean {
    if (this.#rate / clockRate === this.#scale) return false
    this.#scale = this.#rate / clockRate
    return true
  }

  /** Takes a packet; its place in the stream, or -1 when its timestamps jumped: start anew. */
  observe(timestamp: number, arrival: number): number {
    if (!this.#started) {
      this.#started = true
      this.#last = 2 ** 32 + timestamp
      this.#first = this.#last
      this.#bucket = Math.floor(arrival / this.#rate)
      this.#lastTransit = arrival - BASE
      this.#offset = this.#lastTransit
    }
    const extended = this.#last + timestampDelta(timestamp, this.#last % 2 ** 32)
    const place = BASE + Math.round((extended - this.#first) * this.#scale)
    const transit = arrival - place
    if (transit < this.#offset - this.#maxEarly) return -1
    if (extended > this.#last) this.#last = extended
    this.#rotate(arrival)
    const slot = this.#bucket % BUCKETS
    if (transit < (this.#minima[slot] as number)) this.#minima[slot] = transit
    this.#offset = this.#smallest()
    this.delay = transit - this.#offset
    this.jitter += (Math.abs(transit - this.#lastTransit) - this.jitter) / 16
    this.#lastTransit = transit
    this.#drift.observe(transit, arrival)
    return place
  }

  /** Where on our time line a place in the stream belongs. */
  position(place: number): number {
    return place + this.#offset
  }

  /** The place in the stream that an undelayed packet arriving at this position has. */
  timestampAt(position: number): number {
    return position - this.#offset
  }

  /** Forgets the stream, keeps the jitter figure. */
  restart(): void {
    this.#started = false
    this.#minima.fill(Number.POSITIVE_INFINITY)
    this.delay = 0
    this.#drift.restart()
  }

  #rotate(arrival: number): void {
    const bucket = Math.floor(arrival / this.#rate)
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
