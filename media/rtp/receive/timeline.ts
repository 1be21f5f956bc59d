import type { SessionRate } from '../../base/frame.js'
import { DriftMeter } from './clock-drift.js'
import { timestampDelta } from './sequence.js'

/**
 * The fastest packet of the last 8 s counts as undelayed, so the time line follows the drift of the sender's
 * clock.
 */
const BUCKETS = 8
/**
 * A packet this much earlier (s) than all before it is due to a jump of its timestamps: no packet arrives
 * before it was sent.
 */
const MAX_EARLY_S = 0.2

/** Stream position of the first packet: far from zero, so that earlier packets stay positive. */
const BASE = 2 ** 32

/**
 * Maps the timestamps of one RTP stream to session time: position = timestamp + smallest recent transit,
 * which removes the jitter of the network. All values except RTP timestamps are samples at the session rate.
 * Arrival is counted from session start.
 */
export class RtpTimeline {
  /** Lateness of the last packet compared with the fastest ones (samples). */
  delay = 0
  /** Interarrival jitter of RFC 3550 appendix A.8 (samples). */
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
  /** Unwrapped timestamps (ticks of the RTP clock). */
  #last = 0
  #first = 0
  #started = false

  constructor(rate: SessionRate = 8000) {
    this.#rate = rate
    this.#maxEarly = rate * MAX_EARLY_S
    this.#drift = new DriftMeter(rate)
    this.#scale = rate / 8000
  }

  /** Drift of the sender's clock, positive when it is fast; 0 while unknown. */
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

  /** Sets the clock rate of the timestamps. Returns true when it changed, which means another stream. */
  setClock(clockRate: number): boolean {
    if (this.#rate / clockRate === this.#scale) return false
    this.#scale = this.#rate / clockRate
    return true
  }

  /**
   * Takes a packet. Returns its stream position, or -1 when its timestamps jumped and the caller must
   * restart.
   */
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
    const streamPosition = BASE + Math.round((extended - this.#first) * this.#scale)
    const transit = arrival - streamPosition
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
    return streamPosition
  }

  /** Converts a stream position to a session position. */
  position(streamPosition: number): number {
    return streamPosition + this.#offset
  }

  /** Returns the stream position of an undelayed packet that arrives at this session position. */
  timestampAt(position: number): number {
    return position - this.#offset
  }

  /** Forgets the stream, but keeps the jitter. */
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
