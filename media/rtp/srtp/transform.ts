/**
 * One direction's cipher and authentication, without the state that tells packets apart. All work in
 * place; `header` is the length of the RTP header, `length` that of the packet. What opens a packet gives
 * the length of the plain one, or -1 when it is not genuine, and leaves that unchanged.
 */
export interface SrtpTransform {
  /** The packet's buffer has `overhead` bytes of room behind it. */
  sealRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number
  openRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number
  /** Encrypted; `index` of 31 bits. */
  sealRtcp(packet: Uint8Array, length: number, ssrc: number, index: number): number
  openRtcp(packet: Uint8Array, length: number, ssrc: number): number
  /** The index that a packet claims, -1 when it is too short to have one. */
  rtcpIndex(packet: Uint8Array, length: number): number
}

/** Number of an RTP packet: roll-over counter and sequence number. Filled anew for each packet. */
export interface PacketIndex {
  rollOver: number
  sequence: number
}

/** Tag, index word and master key identifier at their longest. */
export const MAX_SRTP_OVERHEAD = 16 + 4 + 128

/** First bit of the word with SRTCP's index: the packet is encrypted. */
export const ENCRYPTED = 0x80000000
/** RTCP's first header and SSRC stay readable. */
export const RTCP_CLEAR_BYTES = 8

export function writeUint32(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 24
  into[at + 1] = (value >>> 16) & 0xff
  into[at + 2] = (value >>> 8) & 0xff
  into[at + 3] = value & 0xff
}

export function readUint32(from: Uint8Array, at: number): number {
  return (
    (((from[at] as number) << 24) |
      ((from[at + 1] as number) << 16) |
      ((from[at + 2] as number) << 8) |
      (from[at + 3] as number)) >>>
    0
  )
}

/** Without telling by its time where the difference is. */
export function constantTimeEqual(a: Uint8Array, at: number, b: Uint8Array, length: number): boolean {
  let difference = 0
  for (let i = 0; i < length; i++) difference |= (a[at + i] as number) ^ (b[i] as number)
  return difference === 0
}
