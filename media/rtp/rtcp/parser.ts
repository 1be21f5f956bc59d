/*
 * RFC 3550, section 6: a compound packet is a row of blocks, each with the header
 *
 *   |V=2|P|  count  |  packet type  |  length in words, less one  |
 */

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const BYE = 203
/** The types that RFC 5761 section 4 keeps free of RTP: 192 to 223. */
const FIRST_TYPE = 192
const LAST_TYPE = 223

const SENDER_INFO_BYTES = 20
const REPORT_BYTES = 24

/** What a peer says of itself as a sender. */
export interface SenderInfo {
  readonly ssrc: number
  /** The middle 32 bits of its NTP time: what we give back as LSR. */
  readonly ntpMiddle: number
  readonly packets: number
  readonly octets: number
}

/** What a peer says of one source it hears. */
export interface ReceptionReport {
  readonly reporter: number
  readonly ssrc: number
  /** Since its last report, in 1/256. */
  readonly fractionLost: number
  /** Signed: duplicates make it negative. */
  readonly lost: number
  readonly highestSequence: number
  /** In timestamp units. */
  readonly jitter: number
  /** The middle of the NTP time of our last report it got, 0 for none; and 1/65536 s since then. */
  readonly lastReport: number
  readonly delaySinceLastReport: number
}

export interface RtcpListener {
  onSenderReport(info: SenderInfo): void
  onReceptionReport(report: ReceptionReport): void
  onBye(ssrc: number): void
}

/**
 * Whether these bytes are RTCP all through: every block has version 2, an RTCP type, a length that
 * fits and room for what its count promises; only the last one is padded. Reduced-size packets
 * (RFC 5506), which do not begin with a report, are taken too. Never throws.
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
 * Tells what the blocks say, in order; what is of no use here (SDES, APP, feedback, XR, types unknown)
 * is skipped by its length. False, and nothing told, when the packet is not valid.
 */
export function readRtcp(data: Uint8Array, listener: RtcpListener): boolean {
  if (!isValidRtcp(data)) return false
  for (let at = 0; at < data.length; ) {
    const count = (data[at] as number) & 0x1f
    const type = data[at + 1] as number
    if (type === SENDER_REPORT) readSender(data, at + 4, listener)
    if (type === SENDER_REPORT || type === RECEIVER_REPORT) {
      const reports = at + 8 + (type === SENDER_REPORT ? SENDER_INFO_BYTES : 0)
      const reporter = uint32(data, at + 4)
      for (let i = 0; i < count; i++) readReport(data, reports + i * REPORT_BYTES, reporter, listener)
    }
    if (type === BYE) for (let i = 0; i < count; i++) listener.onBye(uint32(data, at + 4 + i * 4))
    at += 4 + uint16(data, at + 2) * 4
  }
  return true
}

/** Bytes after the header that a block of this type and count must have at least. */
function needed(type: number, count: number): number {
  if (type === SENDER_REPORT) return 4 + SENDER_INFO_BYTES + count * REPORT_BYTES
  if (type === RECEIVER_REPORT) return 4 + count * REPORT_BYTES
  if (type === BYE) return count * 4
  return 0
}

/** Bytes of padding of a block; -1 when its number cannot be. */
function paddingOf(data: Uint8Array, first: number, at: number, end: number): number {
  if ((first & 0x20) === 0) return 0
  const padding = data[end - 1] as number
  return padding === 0 || padding % 4 !== 0 || padding > end - at - 4 ? -1 : padding
}

function readSender(data: Uint8Array, at: number, listener: RtcpListener): void {
  listener.onSenderReport({
    ssrc: uint32(data, at),
    ntpMiddle: uint32(data, at + 6),
    packets: uint32(data, at + 16),
    octets: uint32(data, at + 20),
  })
}

function readReport(data: Uint8Array, at: number, reporter: number, listener: RtcpListener): void {
  const word = uint32(data, at + 4)
  listener.onReceptionReport({
    reporter,
    ssrc: uint32(data, at),
    fractionLost: word >>> 24,
    lost: (word << 8) >> 8,
    highestSequence: uint32(data, at + 8),
    jitter: uint32(data, at + 12),
    lastReport: uint32(data, at + 16),
    delaySinceLastReport: uint32(data, at + 20),
  })
}

function uint16(data: Uint8Array, at: number): number {
  return ((data[at] as number) << 8) | (data[at + 1] as number)
}

function uint32(data: Uint8Array, at: number): number {
  return ((uint16(data, at) << 16) | uint16(data, at + 2)) >>> 0
}
