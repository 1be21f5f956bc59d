import { createHmac } from 'node:crypto'
import { constantTimeEqual, randomBase62 } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'

/*
 * Anybody can use up the sign-in attempts of an account. A browser in which the account signed in before has
 * a cookie that gives it attempts of its own (OWASP Authentication Cheat Sheet, device cookies).
 */

/** Time for which a browser stays known (ms). */
export const DEVICE_LIFE_MS = 180 * 24 * 3_600_000
const VALUE = /^([0-9A-Za-z]{22})\.(\d{1,16})\.([\w-]{43})$/

/** Returns the cookie value of a browser in which the account signed in just now. */
export function newDevice(rootKey: RootKey, email: string, now: number): string {
  const id = randomBase62(22)
  const expiresAt = now + DEVICE_LIFE_MS
  return `${id}.${expiresAt}.${proof(rootKey, email, id, expiresAt)}`
}

/** Returns the id of the browser, or null if the cookie is missing, forged, expired or of another account. */
export function knownDevice(
  rootKey: RootKey,
  email: string,
  value: string | null,
  now: number,
): string | null {
  const [, id = '', expiry = '', mac = ''] = VALUE.exec(value ?? '') ?? []
  const expiresAt = Number(expiry)
  if (id === '' || expiresAt <= now) return null
  return constantTimeEqual(mac, proof(rootKey, email, id, expiresAt)) ? id : null
}

function proof(rootKey: RootKey, email: string, id: string, expiresAt: number): string {
  return createHmac('sha256', rootKey.subkey('known-device'))
    .update(`${id} ${expiresAt} ${email}`)
    .digest('base64url')
}
