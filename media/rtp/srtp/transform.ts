/**
 * Cipher and authentication of one direction, without the state that identifies packets. All functions work
 * in place; `header` is the length of the RTP header, `length` that of the packet. The open functions return
 * the length of the plain packet, or -1 and an unchanged packet when authentication fails.
 */
export interface SrtpTransform {
  /** The buffer of the packet has MAX_SRTP_OVERHEAD bytes of room behind it. */
  sealRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number
  openRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number
  /** Encrypts an RTCP packet; `index` has 31 bits. */
  sealRtcp(packet: Uint8Array, length: number, ssrc: number, index: number): number
  openRtcp(packet: Uint8Array, length: number, ssrc: number): number
  /** Returns the index in the packet, or -1 when the packet is too short to contain one. */
  rtcpIndex(packet: Uint8Array, length: number): number
}

/** Index of an RTP packet: roll-over counter and sequence number. Reused for all packets. */
export interface PacketIndex {
  rollOver: number
  sequence: number
}

/** The longest authentication tag, index word and master key identifier together. */
export const MAX_SRTP_OVERHEAD = 16 + 4 + 128

/** The first bit of the SRTCP index word: the packet is encrypted. */
export const ENCRYPTED = 0x80000000
/** The first header and the SSRC of an RTCP packet are not encrypted. */
export const RTCP_CLEAR_BYTES = 8

/** Compares in constant time, so that the time does not show the position of a difference. */
export function constantTimeEqual(a: Uint8Array, at: number, b: Uint8Array, length: number): boolean {
  let difference = 0
  for (let i = 0; i < length; i++) difference |= (a[at + i] as number) ^ (b[i] as number)
  return difference === 0
}
