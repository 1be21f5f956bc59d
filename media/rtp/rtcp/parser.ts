import { readUint32 } from '../uint32.js'

/*
 * RFC 3550, section 6: a compound packet is a row of blocks, each with the header
 *
 *   |V=2|P|  count  |  packet type  |  length in words, less one  |
 */

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const BYE = 203
/** The packet types 192 to 223, which RFC 5761 section 4 keeps free of RTP. */
const FIRST_TYPE = 192
const LAST_TYPE = 223

const SENDER_INFO_BYTES = 20
const REPORT_BYTES = 24

/** Sender information of a peer. */
export interface SenderInfo {
  readonly ssrc: number
  /** The middle 32 bits of the NTP time, which a report returns as LSR. */
  readonly ntpMiddle: number
  readonly packets: number
  readonly octets: number
}

/** A peer's report about one source. */
export interface ReceptionReport {
  readonly reporter: number
  readonly ssrc: number
  /** Since the previous report, in 1/256. */
  readonly fractionLost: number
  /** Signed: duplicates can make it negative. */
  readonly lost: number
  readonly highestSequence: number
  /** In timestamp units. */
  readonly jitter: number
  /**
   * The middle 32 bits of the NTP time of the last sender report from Parley (0 for none), and the time since
   * its arrival in 1/65536 s.
   */
  readonly lastReport: number
  readonly delaySinceLastReport: number
}

export interface RtcpListener {
  onSenderReport(info: SenderInfo): void
  onReceptionReport(report: ReceptionReport): void
  onBye(ssrc: number): void
}

/**
 * Returns true for a valid compound packet: every block has version 2, an RTCP type, a length that fits, and
 * room for its count, and only the last one is padded. Reduced-size packets without a leading report (RFC
 * 5506) are valid too. Never throws.
 */
export function isValidRtcp(data: Uint8Array): boolean {
  let at = 0
  while (at < data.length) {
    if (at + 4 > data.length) return false
    const first = data[at] as number
    const type = data[at + 1] as number
    const end = at + 4 + uint16(data, at + 2) * 4
    if (first >> 6 !== 2 || type < FIRST_TYPE || type > LAST_TYPE || end > data.length) return false
    const padding = paddingOf(data, first, at, end)
    if (padding === -1 || (padding > 0 && end !== data.length)) return false
    if (at + 4 + needed(type, first & 0x1f) > end - padding) return false
    at = end
  }
  return at > 0
}

/**
 * Reports the blocks to the listener in order. Skips SDES, APP, feedback, XR and unknown types. Returns
 * false, and reports nothing, when the packet is invalid.
 */
export function readRtcp(data: Uint8Array, listener: RtcpListener): boolean {
  if (!isValidRtcp(data)) return false
  for (let at = 0; at < data.length; ) {
    const count = (data[at] as number) & 0x1f
    const type = data[at + 1] as number
    if (type === SENDER_REPORT) readSender(data, at + 4, listener)
    if (type === SENDER_REPORT || type === RECEIVER_REPORT) {
      const reports = at + 8 + (type === SENDER_REPORT ? SENDER_INFO_BYTES : 0)
      const reporter = readUint32(data, at + 4)
      for (let i = 0; i < count; i++) readReport(data, reports + i * REPORT_BYTES, reporter, listener)
    }
    if (type === BYE) for (let i = 0; i < count; i++) listener.onBye(readUint32(data, at + 4 + i * 4))
    at += 4 + uint16(data, at + 2) * 4
  }
  return true
}

/** Returns the least number of bytes after the header for a block of this type and count. */
function needed(type: number, count: number): number {
  if (type === SENDER_REPORT) return 4 + SENDER_INFO_BYTES + count * REPORT_BYTES
  if (type === RECEIVER_REPORT) return 4 + count * REPORT_BYTES
  if (type === BYE) return count * 4
  return 0
}

/** Returns the padding of a block (bytes), or -1 for an impossible value. */
function paddingOf(data: Uint8Array, first: number, at: number, end: number): number {
  if ((first & 0x20) === 0) return 0
  const padding = data[end - 1] as number
  return padding === 0 || padding % 4 !== 0 || padding > end - at - 4 ? -1 : padding
}

function readSender(data: Uint8Array, at: number, listener: RtcpListener): void {
  listener.onSenderReport({
    ssrc: readUint32(data, at),
    ntpMiddle: readUint32(data, at + 6),
    packets: readUint32(data, at + 16),
    octets: readUint32(data, at + 20),
  })
}

function readReport(data: Uint8Array, at: number, reporter: number, listener: RtcpListener): void {
  const word = readUint32(data, at + 4)
  listener.onReceptionReport({
    reporter,
    ssrc: readUint32(data, at),
    fractionLost: word >>> 24,
    lost: (word << 8) >> 8,
    highestSequence: readUint32(data, at + 8),
    jitter: readUint32(data, at + 12),
    lastReport: readUint32(data, at + 16),
    delaySinceLastReport: readUint32(data, at + 20),
  })
}

function uint16(data: Uint8Array, at: number): number {
  return ((data[at] as number) << 8) | (data[at + 1] as number)
}
