import { createCipheriv } from 'node:crypto'
import type { SrtpSuiteName } from './keying.js'

/** Parameters of a suite in bytes (RFC 4568 section 6.2, RFC 7714 section 12). */
export interface SrtpSuite {
  readonly keyBytes: number
  readonly saltBytes: number
  /** Length of the HMAC-SHA1 key; 0 for AEAD. */
  readonly authBytes: number
  /** Lengths of the authentication tags of SRTP and SRTCP. */
  readonly tagBytes: number
  readonly rtcpTagBytes: number
  readonly aead: 'aes-128-gcm' | 'aes-256-gcm' | null
}

export const SRTP_SUITES: Readonly<Record<SrtpSuiteName, SrtpSuite>> = {
  AEAD_AES_256_GCM: gcm(32, 'aes-256-gcm'),
  AEAD_AES_128_GCM: gcm(16, 'aes-128-gcm'),
  AES_CM_128_HMAC_SHA1_80: { ...counterMode(), tagBytes: 10 },
  // Only the SRTP tag is short (RFC 4568 section 6.2.2).
  AES_CM_128_HMAC_SHA1_32: { ...counterMode(), tagBytes: 4 },
}

/** The session keys of one direction, for SRTP or for SRTCP. */
export interface SessionKeys {
  readonly encryption: Buffer
  readonly authentication: Buffer
  readonly salt: Buffer
}

export function deriveKeys(suite: SrtpSuite, keyAndSalt: Uint8Array, use: 'rtp' | 'rtcp'): SessionKeys {
  const master = keyAndSalt.subarray(0, suite.keyBytes)
  const salt = keyAndSalt.subarray(suite.keyBytes)
  const first = use === 'rtp' ? 0 : 3
  return {
    encryption: derive(master, salt, first, suite.keyBytes),
    authentication: derive(master, salt, first + 1, suite.authBytes),
    salt: derive(master, salt, first + 2, suite.saltBytes),
  }
}

/**
 * Derives a session key by RFC 3711 section 4.3 with a derivation rate of zero: the AES counter mode key
 * stream that starts at salt XOR label. A shorter salt is padded with zeros (RFC 7714 section 11).
 */
export function derive(master: Uint8Array, salt: Uint8Array, label: number, bytes: number): Buffer {
  const start = Buffer.alloc(16)
  start.set(salt)
  start[7] = (start[7] as number) ^ label
  return createCipheriv(`aes-${master.length * 8}-ctr`, master, start).update(Buffer.alloc(bytes))
}

function counterMode() {
  return { keyBytes: 16, saltBytes: 14, authBytes: 20, rtcpTagBytes: 10, aead: null }
}

function gcm(keyBytes: number, aead: 'aes-128-gcm' | 'aes-256-gcm'): SrtpSuite {
  return { keyBytes, saltBytes: 12, authBytes: 0, tagBytes: 16, rtcpTagBytes: 16, aead }
}
