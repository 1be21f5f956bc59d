/*
 * The RTCP blocks of RFC 3550 section 6 that Parley sends. Each function writes at `at` and returns the
 * offset after its output. The buffer must have room.
 */

const VERSION_2 = 0x80
const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const SOURCE_DESCRIPTION = 202
const BYE = 203
const CNAME = 1

export interface OwnSenderInfo {
  /** NTP time: seconds since 1900, and 2^-32 of a second. */
  readonly ntpSeconds: number
  readonly ntpFraction: number
  /** The same moment on the RTP clock of the stream. */
  readonly timestamp: number
  readonly packets: number
  readonly octets: number
}

export interface OwnReport {
  readonly ssrc: number
  readonly fractionLost: number
  /** Signed, clamped to 24 bits. */
  readonly lost: number
  readonly highestSequence: number
  readonly jitter: number
  readonly lastReport: number
  readonly delaySinceLastReport: number
}

/** Writes a sender report, or a receiver report when nothing was sent, with at most one report block. */
export function writeReport(
  into: Buffer,
  at: number,
  ssrc: number,
  sent: OwnSenderInfo | null,
  received: OwnReport | null,
): number {
  const begin = at
  at = into.writeUInt32BE(ssrc, at + 4)
  if (sent !== null) {
    at = into.writeUInt32BE(sent.ntpSeconds >>> 0, at)
    at = into.writeUInt32BE(sent.ntpFraction >>> 0, at)
    at = into.writeUInt32BE(sent.timestamp >>> 0, at)
    at = into.writeUInt32BE(sent.packets >>> 0, at)
    at = into.writeUInt32BE(sent.octets >>> 0, at)
  }
  if (received !== null) {
    at = into.writeUInt32BE(received.ssrc, at)
    at = into.writeUInt8(received.fractionLost, at)
    at = into.writeIntBE(Math.max(-0x800000, Math.min(0x7fffff, received.lost)), at, 3)
    at = into.writeUInt32BE(received.highestSequence >>> 0, at)
    at = into.writeUInt32BE(received.jitter >>> 0, at)
    at = into.writeUInt32BE(received.lastReport, at)
    at = into.writeUInt32BE(received.delaySinceLastReport >>> 0, at)
  }
  return header(into, begin, at, sent === null ? RECEIVER_REPORT : SENDER_REPORT, received === null ? 0 : 1)
}

/** Writes an SDES block with one chunk that contains only the CNAME (1 to 255 bytes). */
export function writeCname(into: Buffer, at: number, ssrc: number, cname: Uint8Array): number {
  const begin = at
  at = into.writeUInt32BE(ssrc, at + 4)
  at = into.writeUInt8(CNAME, at)
  at = into.writeUInt8(cname.length, at)
  into.set(cname, at)
  at += cname.length
  // One zero ends the list, further zeros pad to a word.
  do at = into.writeUInt8(0, at)
  while ((at - begin) % 4 !== 0)
  return header(into, begin, at, SOURCE_DESCRIPTION, 1)
}

export function writeBye(into: Buffer, at: number, ssrc: number): number {
  return header(into, at, into.writeUInt32BE(ssrc, at + 4), BYE, 1)
}

function header(into: Buffer, begin: number, end: number, type: number, count: number): number {
  into[begin] = VERSION_2 | count
  into[begin + 1] = type
  into.writeUInt16BE((end - begin) / 4 - 1, begin + 2)
  return end
}
