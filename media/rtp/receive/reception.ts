import { BurstCounter, type BurstLoss } from '../rtcp/burst-loss.js'
import type { OwnReport } from '../rtcp/writer.js'
import { sequenceDelta } from './sequence.js'

/** A packet of the stream that was not received before. */
export const FRESH = 0
export const DUPLICATE = 1
/** Behind by more than the window, so that it may be a duplicate. */
export const STALE = 2
/** The sequence numbers jumped: the sender restarted, and counting starts over. */
export const RESTART = 3

// RFC 3550 appendix A.1: a larger step forward is a restart, not loss. Backwards the window decides.
const MAX_DROPOUT = 3000
const MAX_MISORDER = 1000
const WINDOW = 256
/** The unwrapped sequence numbers begin one cycle up, so that reordering around the first packet stays positive. */
const CYCLE = 0x10000

/** The NTP time of the sender's last report (middle 32 bits) and its arrival. */
interface LastReport {
  readonly ntpMiddle: number
  readonly atMs: number
}

/**
 * Unwraps the sequence numbers of the received stream, detects duplicates, and keeps the statistics of
 * RFC 3550 (sections 6.4.1, A.1, A.3) for RTCP reports and for the call. A new SSRC starts the reports over;
 * the totals of the call continue. Allocates nothing per packet.
 */
export class ReceptionStatistics {
  /** SSRC of the current stream; -1 before the first packet. */
  ssrc = -1
  /** Unwrapped sequence number of the last packet. */
  extended = 0
  duplicates = 0
  /** Interarrival jitter of RFC 3550 (timestamp units), kept up to date by the receiver. */
  jitter = 0
  readonly #bursts = new BurstCounter()
  readonly #seen = new Float64Array(WINDOW).fill(-1)
  #highest = -1
  #base = 0
  /** All packets since the last restart, and those that were fresh. */
  #received = 0
  #fresh = 0
  #expectedPrior = 0
  #receivedPrior = 0
  #receivedSinceReport = false
  #lastReport: LastReport | null = null
  /** Totals before the last restart. */
  #expectedBefore = 0
  #lostBefore = 0

  get expected(): number {
    return this.#expectedBefore + this.#expectedNow()
  }

  get lost(): number {
    return this.#lostBefore + this.#lostNow()
  }

  /** Takes a packet of the stream. Returns FRESH, DUPLICATE, STALE or RESTART. */
  packet(ssrc: number, sequence: number): number {
    this.#receivedSinceReport = true
    if (ssrc !== this.ssrc) {
      this.restart()
      this.ssrc = ssrc
      this.#lastReport = null
    }
    if (this.#highest === -1) {
      this.#begin(sequence)
      return FRESH
    }
    const delta = sequenceDelta(sequence, this.#highest & 0xffff)
    if (delta > MAX_DROPOUT || delta < -MAX_MISORDER) {
      this.restart()
      this.#begin(sequence)
      return RESTART
    }
    const extended = this.#highest + delta
    this.extended = extended
    this.#received++
    if (delta <= -WINDOW || extended < 0) return STALE
    const slot = extended % WINDOW
    if (this.#seen[slot] === extended) {
      this.duplicates++
      return DUPLICATE
    }
    this.#seen[slot] = extended
    this.#fresh++
    if (delta > 0) this.#highest = extended
    else if (extended < this.#base) this.#base = extended
    this.#bursts.packet(extended, false)
    return FRESH
  }

  /** Marks a fresh packet, by its unwrapped sequence number, as too late for playout. */
  discard(extended: number): void {
    this.#bursts.packet(extended, true)
  }

  /** Makes the next packet the first of a new stream. The totals of the call continue. */
  restart(): void {
    this.#lostBefore += this.#lostNow()
    this.#expectedBefore += this.#expectedNow()
    this.#bursts.restart()
    this.#highest = -1
    this.#received = 0
    this.#fresh = 0
    this.#expectedPrior = 0
    this.#receivedPrior = 0
    this.#seen.fill(-1)
  }

  /** Takes the time of a sender report. */
  senderReported(ssrc: number, ntpMiddle: number, atMs: number): void {
    if (ssrc === this.ssrc) this.#lastReport = { ntpMiddle, atMs }
  }

  /** Returns the report block since the previous one, or null when no packet was received since then. */
  report(nowMs: number): OwnReport | null {
    if (!this.#receivedSinceReport) return null
    this.#receivedSinceReport = false
    const expected = this.#expectedNow()
    const interval = expected - this.#expectedPrior
    const lostInInterval = interval - (this.#received - this.#receivedPrior)
    this.#expectedPrior = expected
    this.#receivedPrior = this.#received
    const last = this.#lastReport
    return {
      ssrc: this.ssrc,
      fractionLost:
        interval <= 0 || lostInInterval <= 0
          ? 0
          : Math.min(255, Math.floor((lostInInterval * 256) / interval)),
      lost: expected - this.#received,
      highestSequence: this.#highest - CYCLE,
      jitter: Math.floor(this.jitter),
      lastReport: last?.ntpMiddle ?? 0,
      delaySinceLastReport: last === null ? 0 : Math.round((nowMs - last.atMs) * 65.536),
    }
  }

  bursts(): BurstLoss {
    return this.#bursts.snapshot()
  }

  #begin(sequence: number): void {
    this.#highest = sequence + CYCLE
    this.#base = this.#highest
    this.#received = 1
    this.#fresh = 1
    this.extended = this.#highest
    this.#seen[this.#highest % WINDOW] = this.#highest
    this.#bursts.packet(this.#highest, false)
  }

  #expectedNow(): number {
    return this.#highest === -1 ? 0 : this.#highest - this.#base + 1
  }

  #lostNow(): number {
    return Math.max(0, this.#expectedNow() - this.#fresh)
  }
}
