import type { Clock } from '../../base/clock.js'
import type { ReceptionStatistics } from '../receive/reception.js'
import { timestampDelta } from '../receive/sequence.js'
import { readUint32 } from '../uint32.js'
import { type ReceptionReport, readRtcp, type SenderInfo } from './parser.js'
import { type OwnSenderInfo, writeBye, writeCname, writeReport } from './writer.js'

/**
 * Minimum interval of RFC 3550 section 6.2. With two parties the bandwidth share would allow more reports.
 */
const INTERVAL_MS = 5000
/** Compensation for timer reconsideration (section 6.3.1). */
const COMPENSATION = Math.E - 1.5
/** From the NTP epoch of 1900 to the Unix epoch. */
const NTP_EPOCH_SECONDS = 2_208_988_800
const MAX_BYTES = 256

/** The peer's report about the audio that Parley sent. */
export interface RemoteReport {
  /** Share of all packets lost, and of those since the previous report; 0 to 1. */
  readonly loss: number
  readonly recentLoss: number
  readonly jitterMs: number
}

/**
 * The RTCP session of one stream in each direction: sends a report every five seconds (randomised, the first
 * one sooner), and keeps the peer's reports and the round-trip time. The tick drives it; it has no socket and
 * no timer.
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
  /**
   * Unix time when the monotonic clock was 0 (ms), so that a step of the wall clock does not affect
   * round-trip times.
   */
  readonly #wallAtZero: number
  readonly #out = Buffer.alloc(MAX_BYTES)
  #clockRate = 8000
  #packets = 0
  #octets = 0
  #timestamp = 0
  #timestampAtMs = 0
  /** Packets were sent since the last report, and in the interval before it. */
  #isSender = false
  #wasSender = false
  #dueMs = -1

  /** @param cname 1 to 64 bytes that identify neither persons nor hosts (RFC 7022) */
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

  /** Takes note of a sent RTP packet, before encryption. */
  packetSent(packet: Uint8Array, payloadBytes: number, nowMs: number): void {
    this.#timestamp = readUint32(packet, 4)
    this.#timestampAtMs = nowMs
    this.#packets++
    this.#octets += payloadBytes
    this.#isSender = true
  }

  /** Takes a decrypted compound packet of the peer. Returns false when it is invalid. */
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

  /** Returns the reports that are due, or null. Borrowed until the next call. */
  tick(nowMs: number): Buffer | null {
    if (this.#dueMs === -1) this.#dueMs = nowMs + this.#interval() / 2
    if (nowMs < this.#dueMs || this.#packets + this.#reception.expected === 0) return null
    this.#dueMs = nowMs + this.#interval()
    return this.#compound(nowMs, false)
  }

  /** Returns the last reports with a BYE, or null when Parley sent nothing. Borrowed. */
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
    // Refuses an absurd round-trip time, for example from another stream's report. Rounding on both sides may
    // make it negative by up to a millisecond.
    if (elapsed > -66 && elapsed < 60 * 65_536) this.rttMs = Math.max(0, elapsed / 65.536)
  }

  /** Returns the middle 32 bits of the NTP time. */
  #ntpMiddle(nowMs: number): number {
    const unixMs = this.#wallAtZero + nowMs
    return Math.floor((unixMs / 1000 + NTP_EPOCH_SECONDS) * 65_536) % 2 ** 32
  }

  #interval(): number {
    return (INTERVAL_MS * (0.5 + this.#random())) / COMPENSATION
  }
}
