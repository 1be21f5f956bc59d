import { readUint32, writeUint32 } from './uint32.js'

/*
 * RFC 3550, section 5.1:
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *   |V=2|P|X|  CC   |M|     PT      |       sequence number         |
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *   |                           timestamp                           |
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *   |           synchronization source (SSRC) identifier            |
 *   +=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+
 *   |            contributing source (CSRC) identifiers (CC of them)|
 *   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *   |      defined by profile       |  length (32-bit words)   if X |
 */

export const RTP_HEADER_BYTES = 12

const VERSION_2 = 0x80
const PADDING = 0x20
const EXTENSION = 0x10
const CSRC_COUNT = 0x0f
const MARKER = 0x80
const PAYLOAD_TYPE = 0x7f

/** A parsed header. One instance is reused for all packets. The payload stays in the datagram. */
export class RtpPacket {
  marker = false
  payloadType = 0
  sequence = 0
  timestamp = 0
  ssrc = 0
  payloadOffset = 0
  payloadLength = 0

  /**
   * Parses a datagram. Returns false, with undefined fields, when it is not an RTP version 2 packet or its
   * lengths do not fit. Never throws.
   */
  parse(data: Uint8Array): boolean {
    const length = data.length
    if (length < RTP_HEADER_BYTES) return false
    const first = data[0] as number
    if ((first & 0xc0) !== VERSION_2) return false
    let offset = RTP_HEADER_BYTES + (first & CSRC_COUNT) * 4
    if (first & EXTENSION) {
      if (offset + 4 > length) return false
      offset += 4 + (((data[offset + 2] as number) << 8) | (data[offset + 3] as number)) * 4
    }
    let end = length
    if (first & PADDING) {
      const padding = data[length - 1] as number
      if (padding === 0) return false
      end -= padding
    }
    if (offset > end) return false
    const second = data[1] as number
    this.marker = (second & MARKER) !== 0
    this.payloadType = second & PAYLOAD_TYPE
    this.sequence = ((data[2] as number) << 8) | (data[3] as number)
    this.timestamp = readUint32(data, 4)
    this.ssrc = readUint32(data, 8)
    this.payloadOffset = offset
    this.payloadLength = end - offset
    return true
  }
}

/**
 * Returns the length of the header with CSRC list and extension, or -1 when the data is not an RTP version 2
 * packet or does not fit. Unlike `parse` it also works on an encrypted packet, whose padding cannot be read.
 */
export function rtpHeaderBytes(data: Uint8Array, length: number): number {
  if (length < RTP_HEADER_BYTES || ((data[0] as number) & 0xc0) !== VERSION_2) return -1
  const first = data[0] as number
  let offset = RTP_HEADER_BYTES + (first & CSRC_COUNT) * 4
  if (first & EXTENSION) {
    if (offset + 4 > length) return -1
    offset += 4 + (((data[offset + 2] as number) << 8) | (data[offset + 3] as number)) * 4
  }
  return offset > length ? -1 : offset
}

/**
 * Returns true when a datagram on an RTP port is RTCP. The RTCP packet types coincide with a marker bit and
 * payload types 64 to 95, which RTP therefore does not use (RFC 5761 section 4).
 */
export function isRtcp(data: Uint8Array): boolean {
  if (data.length < 8 || ((data[0] as number) & 0xc0) !== VERSION_2) return false
  const type = data[1] as number
  return type >= 192 && type <= 223
}

/** Writes a header of 12 bytes, without CSRC, extension or padding, to the start of `into`. */
export function writeRtpHeader(
  into: Uint8Array,
  payloadType: number,
  marker: boolean,
  sequence: number,
  timestamp: number,
  ssrc: number,
): void {
  into[0] = VERSION_2
  into[1] = (marker ? MARKER : 0) | (payloadType & PAYLOAD_TYPE)
  into[2] = (sequence >>> 8) & 0xff
  into[3] = sequence & 0xff
  writeUint32(into, 4, timestamp)
  writeUint32(into, 8, ssrc)
}
