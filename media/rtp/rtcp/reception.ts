import { sequenceDelta, timestampDelta } from '../receive/sequence.js'
import { BurstCounter, type BurstLoss } from './burst-loss.js'
import type { OwnReport } from './writer.js'

// RFC 3550, appendix A.1.
const MAX_DROPOUT = 3000
const MAX_MISORDER = 100

/** NTP time of the sender's last report (middle 32 bits), and when it came. */
interface LastReport {
  readonly ntpMiddle: number
  readonly atMs: number
}

/**
 * What RFC 3550 keeps of the source that is heard (sections 6.4.1, A.1, A.3, A.8), for our reports and
 * for the call's statistics. A new SSRC starts it over; the call's totals go on.
 */
export class ReceptionStatistics {
  /** Of the source heard last; -1 before the first packet. */
  ssrc = -1
  /** In timestamp units. */
  jitter = 0
  readonly #bursts = new BurstCounter()
  #base = 0
  #highest = 0
  #received = 0
  #expectedPrior = 0
  #receivedPrior = 0
  /** Where a sequence that jumped would go on; only two packets in a row make it true. */
  #jumped = -1
  #lastTransit = 0
  #receivedSinceReport = false
  #lastReport: LastReport | null = null
  /** Of the sources before this one. */
  #expectedBefore = 0
  #receivedBefore = 0

  get expected(): number {
    return this.#expectedBefore + this.#expectedNow()
  }

  get received(): number {
    return this.#receivedBefore + this.#received
  }

  /**
   * An RTP packet of our source. `arrival` is on the clock of its timestamps; `discarded` when it came
   * too late to be heard.
   */
  packet(ssrc: number, sequence: number, timestamp: number, arrival: number, discarded: boolean): void {
    const transit = (arrival - timestamp) | 0
    if (ssrc !== this.ssrc) {
      this.#begin(sequence)
      this.ssrc = ssrc
      this.#lastTransit = transit
      this.#lastReport = null
      this.jitter = 0
    }
    const delta = sequenceDelta(sequence, this.#highest & 0xffff)
    if (delta > MAX_DROPOUT || delta < -MAX_MISORDER) {
      if (sequence !== this.#jumped) {
        this.#jumped = (sequence + 1) & 0xffff
        return
      }
      this.#begin(sequence)
      this.#lastTransit = transit
    } else if (delta > 0) this.#highest += delta
    this.#received++
    this.#receivedSinceReport = true
    // The window of the bursts needs numbers that stay positive around the first packet.
    this.#bursts.packet(this.#highest + Math.min(0, delta) + MAX_DROPOUT, discarded)
    const difference = Math.abs(timestampDelta(transit, this.#lastTransit))
    this.#lastTransit = transit
    this.jitter += (difference - this.jitter) / 16
  }

  /** The source told its time. */
  senderReported(ssrc: number, ntpMiddle: number, atMs: number): void {
    if (ssrc === this.ssrc) this.#lastReport = { ntpMiddle, atMs }
  }

  /** The block about this source since the last one; null when nothing was heard of it meanwhile. */
  report(nowMs: number): OwnReport | null {
    if (!this.#receivedSinceReport) return null
    this.#receivedSinceReport = false
    const expected = this.#expectedNow()
    const lost = expected - this.#received
    const interval = expected - this.#expectedPrior
    const lostNow = interval - (this.#received - this.#receivedPrior)
    this.#expectedPrior = expected
    this.#receivedPrior = this.#received
    const last = this.#lastReport
    return {
      ssrc: this.ssrc,
      fractionLost: interval <= 0 || lostNow <= 0 ? 0 : Math.min(255, Math.floor((lostNow * 256) / interval)),
      lost,
      highestSequence: this.#highest,
      jitter: Math.floor(this.jitter),
      lastReport: last?.ntpMiddle ?? 0,
      delaySinceLastReport: last === null ? 0 : Math.round((nowMs - last.atMs) * 65.536),
    }
  }

  bursts(): BurstLoss {
    return this.#bursts.snapshot()
  }

  #begin(sequence: number): void {
    this.#expectedBefore += this.#expectedNow()
    this.#receivedBefore += this.#received
    this.#bursts.restart()
    this.#base = sequence
    this.#highest = sequence
    this.#received = 0
    this.#expectedPrior = 0
    this.#receivedPrior = 0
    this.#jumped = -1
  }

  #expectedNow(): number {
    return this.ssrc === -1 ? 0 : this.#highest - this.#base + 1
  }
}
