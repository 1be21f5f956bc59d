import { createCipheriv, createDecipheriv, randomBytes, timingSafeEqual } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'
import type { KeyPurpose, RootKey } from './root-key.js'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns uniformly random characters of 0-9A-Za-z. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 = 4 * 62. Higher bytes would favour the first characters.
      if (byte < 248 && text.length < length) text += BASE62.charAt(byte % 62)
    }
  }
  return text
}

/** Writes a number below 62^width in base 62, padded with leading zeros. */
export function base62(value: number, width: number): string {
  let text = ''
  for (let rest = value, i = 0; i < width; i++, rest = Math.floor(rest / 62)) {
    text = BASE62.charAt(rest % 62) + text
  }
  return text
}

/** Compares two texts in constant time. Their lengths may leak. */
export function constantTimeEqual(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text with AES-256-GCM and a random nonce. Returns base64 of nonce, tag and ciphertext. `bound`
 * is associated data, which must be the same on decryption.
 */
export function seal(key: Buffer, plain: string, bound: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
}

/**
 * Decrypts a text of `seal`. Throws EngineError `storage_failed` when it was altered or sealed with another
 * key.
 */
export function unseal(key: Buffer, sealed: string, bound: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(bound)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString(
      'utf8',
    )
  } catch (error) {
    throw new EngineError('storage_failed', 'a stored secret cannot be decrypted with this root key', {
      cause: error,
    })
  }
}

/**
 * Decrypts a text sealed with the subkey of the current root key or of an earlier one that is still
 * configured. Throws EngineError `storage_failed` when no key fits.
 */
export function unsealWithAnyKey(
  rootKey: RootKey,
  purpose: KeyPurpose,
  sealed: string,
  bound: string,
): string {
  for (const earlier of rootKey.previous) {
    try {
      return unseal(earlier.subkey(purpose), sealed, bound)
    } catch {
      // Sealed with another key, most likely the current one. If that fails as well, its error is thrown
      // below.
    }
  }
  return unseal(rootKey.subkey(purpose), sealed, bound)
}
