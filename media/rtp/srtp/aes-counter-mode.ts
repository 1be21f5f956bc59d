import { type Cipher, createCipheriv } from 'node:crypto'
import { readUint32, writeUint32 } from '../uint32.js'
import { HmacSha1 } from './hmac-sha1.js'
import type { SessionKeys, SrtpSuite } from './key-derivation.js'
import {
  constantTimeEqual,
  ENCRYPTED,
  type PacketIndex,
  RTCP_CLEAR_BYTES,
  type SrtpTransform,
} from './transform.js'

const BLOCK = 16
/** Key stream computed at once (bytes): more than a usual audio packet needs. */
const STREAM_BYTES = 2048

/**
 * AES in counter mode with HMAC-SHA1 (RFC 3711). One long-lived AES object encrypts the counter blocks.
 * Together with the HMAC in JavaScript this takes two thirds of the time of new `node:crypto` objects per
 * packet.
 */
export class CounterTransform implements SrtpTransform {
  readonly #rtp: KeyStream
  readonly #rtcp: KeyStream
  readonly #rtpHmac: HmacSha1
  readonly #rtcpHmac: HmacSha1
  readonly #rtpTag: number
  readonly #rtcpTag: number
  readonly #mki: Uint8Array
  readonly #digest = new Uint8Array(20)

  constructor(suite: SrtpSuite, rtp: SessionKeys, rtcp: SessionKeys, mki: Uint8Array) {
    this.#rtp = new KeyStream(rtp.encryption, rtp.salt)
    this.#rtcp = new KeyStream(rtcp.encryption, rtcp.salt)
    this.#rtpHmac = new HmacSha1(rtp.authentication)
    this.#rtcpHmac = new HmacSha1(rtcp.authentication)
    this.#rtpTag = suite.tagBytes
    this.#rtcpTag = suite.rtcpTagBytes
    this.#mki = mki
  }

  sealRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number {
    this.#rtp.apply(packet, header, length, ssrc, index.rollOver, index.sequence)
    this.#rtpHmac.digest(packet, length, index.rollOver, this.#digest)
    return this.#appendTag(packet, length, this.#rtpTag)
  }

  openRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number {
    const end = length - this.#rtpTag - this.#mki.length
    if (end < header || !constantTimeEqual(packet, end, this.#mki, this.#mki.length)) return -1
    this.#rtpHmac.digest(packet, end, index.rollOver, this.#digest)
    if (!constantTimeEqual(packet, length - this.#rtpTag, this.#digest, this.#rtpTag)) return -1
    this.#rtp.apply(packet, header, end, ssrc, index.rollOver, index.sequence)
    return end
  }

  sealRtcp(packet: Uint8Array, length: number, ssrc: number, index: number): number {
    this.#rtcp.apply(packet, RTCP_CLEAR_BYTES, length, ssrc, index >>> 16, index & 0xffff)
    writeUint32(packet, length, index | ENCRYPTED)
    this.#rtcpHmac.digest(packet, length + 4, null, this.#digest)
    return this.#appendTag(packet, length + 4, this.#rtcpTag)
  }

  openRtcp(packet: Uint8Array, length: number, ssrc: number): number {
    const end = length - this.#rtcpTag - this.#mki.length - 4
    if (end < RTCP_CLEAR_BYTES || !constantTimeEqual(packet, end + 4, this.#mki, this.#mki.length)) return -1
    this.#rtcpHmac.digest(packet, end + 4, null, this.#digest)
    if (!constantTimeEqual(packet, length - this.#rtcpTag, this.#digest, this.#rtcpTag)) return -1
    const word = readUint32(packet, end)
    const index = word & ~ENCRYPTED
    if (word >= ENCRYPTED) {
      this.#rtcp.apply(packet, RTCP_CLEAR_BYTES, end, ssrc, index >>> 16, index & 0xffff)
    }
    return end
  }

  rtcpIndex(packet: Uint8Array, length: number): number {
    const at = length - this.#rtcpTag - this.#mki.length - 4
    return at < RTCP_CLEAR_BYTES ? -1 : readUint32(packet, at) & ~ENCRYPTED
  }

  #appendTag(packet: Uint8Array, length: number, tagBytes: number): number {
    packet.set(this.#mki, length)
    const at = length + this.#mki.length
    for (let i = 0; i < tagBytes; i++) packet[at + i] = this.#digest[i] as number
    return at + tagBytes
  }
}

/** Key stream of RFC 3711 section 4.1.1. `high` (32 bits) and `low` (16 bits) are the packet index. */
class KeyStream {
  readonly #aes: Cipher
  readonly #salt: Buffer
  readonly #blocks = Buffer.alloc(STREAM_BYTES)
  readonly #start = new Uint8Array(BLOCK)

  constructor(key: Buffer, salt: Buffer) {
    this.#aes = createCipheriv('aes-128-ecb', key, null)
    this.#aes.setAutoPadding(false)
    this.#salt = salt
  }

  apply(packet: Uint8Array, begin: number, end: number, ssrc: number, high: number, low: number): void {
    const start = this.#start
    start.set(this.#salt)
    xorUint32(start, 4, ssrc)
    xorUint32(start, 8, high)
    start[12] = (start[12] as number) ^ (low >>> 8)
    start[13] = (start[13] as number) ^ (low & 0xff)
    let counter = 0
    for (let at = begin; at < end; at += STREAM_BYTES) {
      const bytes = Math.min(STREAM_BYTES, end - at)
      const blocks = Math.ceil(bytes / BLOCK)
      for (let i = 0; i < blocks; i++, counter++) {
        this.#blocks.set(start, i * BLOCK)
        this.#blocks[i * BLOCK + 14] = counter >>> 8
        this.#blocks[i * BLOCK + 15] = counter & 0xff
      }
      const stream = this.#aes.update(this.#blocks.subarray(0, blocks * BLOCK))
      for (let i = 0; i < bytes; i++) packet[at + i] = (packet[at + i] as number) ^ (stream[i] as number)
    }
  }
}

function xorUint32(into: Uint8Array, at: number, value: number): void {
  writeUint32(into, at, readUint32(into, at) ^ value)
}
