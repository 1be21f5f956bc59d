import { createCipheriv, createDecipheriv } from 'node:crypto'
import { readUint32, writeUint32 } from '../uint32.js'
import type { SessionKeys } from './key-derivation.js'
import {
  constantTimeEqual,
  ENCRYPTED,
  type PacketIndex,
  RTCP_CLEAR_BYTES,
  type SrtpTransform,
} from './transform.js'

const TAG = 16
const TAG_LENGTH = { authTagLength: TAG }

type Aead = 'aes-128-gcm' | 'aes-256-gcm'

/**
 * AES-GCM (RFC 7714). The initialization vector changes with every packet, so each packet needs a cipher
 * object.
 */
export class GcmTransform implements SrtpTransform {
  readonly #aead: Aead
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  readonly #mki: Uint8Array
  readonly #iv = new Uint8Array(12)
  readonly #aad = new Uint8Array(RTCP_CLEAR_BYTES + 4)

  constructor(aead: Aead, rtp: SessionKeys, rtcp: SessionKeys, mki: Uint8Array) {
    this.#aead = aead
    this.#rtp = rtp
    this.#rtcp = rtcp
    this.#mki = mki
  }

  sealRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number {
    this.#setIv(this.#rtp.salt, ssrc, index.rollOver, index.sequence)
    const end = this.#seal(this.#rtp.encryption, packet.subarray(0, header), packet, header, length)
    packet.set(this.#mki, end)
    return end + this.#mki.length
  }

  openRtp(packet: Uint8Array, header: number, length: number, ssrc: number, index: PacketIndex): number {
    const end = length - this.#mki.length
    if (end - TAG < header || !constantTimeEqual(packet, end, this.#mki, this.#mki.length)) return -1
    this.#setIv(this.#rtp.salt, ssrc, index.rollOver, index.sequence)
    return this.#open(this.#rtp.encryption, packet.subarray(0, header), packet, header, end)
  }

  sealRtcp(packet: Uint8Array, length: number, ssrc: number, index: number): number {
    this.#setIv(this.#rtcp.salt, ssrc, index >>> 16, index & 0xffff)
    const additional = this.#additionalData(packet, index | ENCRYPTED)
    const end = this.#seal(this.#rtcp.encryption, additional, packet, RTCP_CLEAR_BYTES, length)
    writeUint32(packet, end, index | ENCRYPTED)
    packet.set(this.#mki, end + 4)
    return end + 4 + this.#mki.length
  }

  openRtcp(packet: Uint8Array, length: number, ssrc: number): number {
    const at = length - this.#mki.length - 4
    if (at - TAG < RTCP_CLEAR_BYTES || !constantTimeEqual(packet, at + 4, this.#mki, this.#mki.length))
      return -1
    const word = readUint32(packet, at)
    const index = word & ~ENCRYPTED
    this.#setIv(this.#rtcp.salt, ssrc, index >>> 16, index & 0xffff)
    const key = this.#rtcp.encryption
    if (word >= ENCRYPTED) {
      return this.#open(key, this.#additionalData(packet, word), packet, RTCP_CLEAR_BYTES, at)
    }
    // Section 9.3: an unencrypted packet is authenticated as additional data.
    const additional = Buffer.concat([packet.subarray(0, at - TAG), packet.subarray(at, at + 4)])
    return this.#open(key, additional, packet, at - TAG, at)
  }

  rtcpIndex(packet: Uint8Array, length: number): number {
    const at = length - this.#mki.length - 4
    return at - TAG < RTCP_CLEAR_BYTES ? -1 : readUint32(packet, at) & ~ENCRYPTED
  }

  /** Sets the initialization vector (sections 8.1 and 9.1): zeros, SSRC and index, XOR the salt. */
  #setIv(salt: Buffer, ssrc: number, high: number, low: number): void {
    const vector = this.#iv
    vector[0] = 0
    vector[1] = 0
    writeUint32(vector, 2, ssrc)
    writeUint32(vector, 6, high)
    vector[10] = low >>> 8
    vector[11] = low & 0xff
    for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) ^ (salt[i] as number)
  }

  #additionalData(packet: Uint8Array, word: number): Uint8Array {
    for (let i = 0; i < RTCP_CLEAR_BYTES; i++) this.#aad[i] = packet[i] as number
    writeUint32(this.#aad, RTCP_CLEAR_BYTES, word)
    return this.#aad
  }

  #seal(key: Buffer, additional: Uint8Array, packet: Uint8Array, begin: number, end: number): number {
    const cipher = createCipheriv(this.#aead, key, this.#iv, TAG_LENGTH)
    cipher.setAAD(additional)
    packet.set(cipher.update(packet.subarray(begin, end)), begin)
    cipher.final()
    packet.set(cipher.getAuthTag(), end)
    return end + TAG
  }

  /** `end` is the offset after the tag. */
  #open(key: Buffer, additional: Uint8Array, packet: Uint8Array, begin: number, end: number): number {
    const cipher = createDecipheriv(this.#aead, key, this.#iv, TAG_LENGTH)
    cipher.setAAD(additional)
    cipher.setAuthTag(packet.subarray(end - TAG, end))
    const plain = cipher.update(packet.subarray(begin, end - TAG))
    try {
      cipher.final()
    } catch {
      // `final` throws only when the tag does not match.
      return -1
    }
    packet.set(plain, begin)
    return end - TAG
  }
}
