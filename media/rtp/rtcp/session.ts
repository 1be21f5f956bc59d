import type { Clock } from '../../base/clock.js'
import type { ReceptionStatistics } from '../receive/reception.js'
import { timestampDelta } from '../receive/sequence.js'
import { readUint32 } from '../srtp/transform.js'
import { type ReceptionReport, readRtcp, type SenderInfo } from './parser.js'
import { type OwnSenderInfo, writeBye, writeCname, writeReport } from './writer.js'

/** RFC 3550, section 6.2: with two parties the bandwidth share allows more, this least time rules. */
const INTERVAL_MS = 5000
/** Section 6.3.1: makes up for timer reconsideration. */
const COMPENSATION = Math.E - 1.5
/** From the NTP era of 1900 to that of Unix. */
const NTP_EPOCH_SECONDS = 2_208_988_800
const MAX_BYTES = 256

/** What the far side reports of the sound we sent. */
export interface RemoteReport {
  /** Share lost on the way, of all packets and since its report before; 0 to 1. */
  readonly loss: number
  readonly recentLoss: number
  readonly jitterMs: number
}

/**
 * The RTCP side of one stream each way: reports every five seconds (randomised, the first sooner), what
 * the peer reports of us, round trip. Driven by the beat; no socket, no timer.
 */
export class RtcpSession {
  received = 0
  invalid = 0
  byes = 0
  sent = 0
  rttMs: number | null = null
  remoteReport: RemoteReport | null = null
  readonly #ssrc: number
  readonly #reception: ReceptionStatistics
  readonly #random: () => number
  readonly #cname: Uint8Array
  /** Unix ms when the monotonic clock was 0: a step of the wall clock must not bend round trips. */
  readonly #wallAtZero: number
  readonly #out = Buffer.alloc(MAX_BYTES)
  #clockRate = 8000
  #packets = 0
  #octets = 0
  #timestamp = 0
  #timestampAtMs = 0
  /** Sent since the last report, and in the interval before it. */
  #isSender = false
  #wasSender = false
  #dueMs = -1

  /** @param cname 1 to 64 bytes that tell nothing of people or machines (RFC 7022). */
  constructor(
    clock: Clock,
    ssrc: number,
    reception: ReceptionStatistics,
    cname: Uint8Array,
    random: () => number,
  ) {
    this.#ssrc = ssrc
    this.#reception = reception
    this.#cname = cname
    this.#random = random
    this.#wallAtZero = clock.wall() - clock.now()
  }

  setClockRate(rate: number): void {
    this.#clockRate = rate
  }

  /** An RTP packet of ours leaves, in the clear. */
  packetSent(packet: Uint8Array, payloadBytes: number, nowMs: number): void {
    this.#timestamp = readUint32(packet, 4)
    this.#timestampAtMs = nowMs
    this.#packets++
    this.#octets += payloadBytes
    this.#isSender = true
  }

  /** A compound packet of the peer, in the clear. False when it is none. */
  receive(data: Uint8Array, nowMs: number): boolean {
    const valid = readRtcp(data, {
      onSenderReport: (info) => this.#senderReport(info, nowMs),
      onReceptionReport: (report) => this.#report(report, nowMs),
      onBye: () => {
        this.byes++
      },
    })
    if (valid) this.received++
    else this.invalid++
    return valid
  }

  /** The reports that are due, or null. Borrowed until the next call. */
  tick(nowMs: number): Buffer | null {
    if (this.#dueMs === -1) this.#dueMs = nowMs + this.#interval() / 2
    if (nowMs < this.#dueMs || this.#packets + this.#reception.expected === 0) return null
    this.#dueMs = nowMs + this.#interval()
    return this.#compound(nowMs, false)
  }

  /** The last reports, with a BYE; null when nothing was ever sent by us. Borrowed. */
  bye(nowMs: number): Buffer | null {
    return this.#packets + this.sent === 0 ? null : this.#compound(nowMs, true)
  }

  #compound(nowMs: number, bye: boolean): Buffer {
    const sender = this.#isSender || this.#wasSender ? this.#senderInfo(nowMs) : null
    this.#wasSender = this.#isSender
    this.#isSender = false
    let at = writeReport(this.#out, 0, this.#ssrc, sender, this.#reception.report(nowMs))
    at = writeCname(this.#out, at, this.#ssrc, this.#cname)
    if (bye) at = writeBye(this.#out, at, this.#ssrc)
    this.sent++
    return this.#out.subarray(0, at)
  }

  #senderInfo(nowMs: number): OwnSenderInfo {
    const unixMs = this.#wallAtZero + nowMs
    const seconds = Math.floor(unixMs / 1000)
    return {
      ntpSeconds: seconds + NTP_EPOCH_SECONDS,
      ntpFraction: Math.floor(((unixMs - seconds * 1000) / 1000) * 2 ** 32),
      timestamp: this.#timestamp + Math.round(((nowMs - this.#timestampAtMs) * this.#clockRate) / 1000),
      packets: this.#packets,
      octets: this.#octets,
    }
  }

  #senderReport({ ssrc, ntpMiddle }: SenderInfo, nowMs: number): void {
    this.#reception.senderReported(ssrc, ntpMiddle, nowMs)
  }

  #report(report: ReceptionReport, nowMs: number): void {
    if (report.ssrc !== this.#ssrc || this.#packets === 0) return
    this.remoteReport = {
      loss: Math.max(0, Math.min(1, report.lost / this.#packets)),
      recentLoss: report.fractionLost / 256,
      jitterMs: (report.jitter / this.#clockRate) * 1000,
    }
    if (report.lastReport === 0) return
    const elapsed = timestampDelta(this.#ntpMiddle(nowMs), report.lastReport) - report.delaySinceLastReport
    // A peer that tells nonsense (or another stream's report) must not make a round trip of days.
    // Two ends that round can disagree by a millisecond.
    if (elapsed > -66 && elapsed < 60 * 65_536) this.rttMs = Math.max(0, elapsed / 65.536)
  }

  /** The middle 32 bits of NTP time. */
  #ntpMiddle(nowMs: number): number {
    const unixMs = this.#wallAtZero + nowMs
    return Math.floor((unixMs / 1000 + NTP_EPOCH_SECONDS) * 65_536) % 2 ** 32
  }

  #interval(): number {
    return (INTERVAL_MS * (0.5 + this.#random())) / COMPENSATION
  }
}
