import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RootKey } from '../base/root-key.js'

/** Lifetime of a download URL (ms). */
export const MEDIA_LINK_MS = 10 * 60_000

/** Grants access to one recording until a moment. The token is the only credential that is checked. */
export interface MediaGrant {
  readonly callId: string
  /** Unix ms. */
  readonly expiresAt: number
}

const MAC_BYTES = 32

/** Signs a grant: `base64url(HMAC-SHA256 || payload)`. Nothing is stored. */
export function writeMediaToken(rootKey: RootKey, grant: MediaGrant): string {
  const payload = Buffer.from(JSON.stringify([grant.callId, grant.expiresAt]))
  return Buffer.concat([mac(rootKey, payload), payload]).toString('base64url')
}

/** Returns the grant of a token that this service signed and that has not expired at `now`, else null. */
export function readMediaToken(rootKey: RootKey, token: string, now: number): MediaGrant | null {
  const bytes = Buffer.from(token, 'base64url')
  // base64url has several spellings of the same bytes. Only the canonical one is accepted.
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null
  const payload = bytes.subarray(MAC_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(rootKey, payload))) return null
  // The token is authentic, so it has the format written above.
  const [callId, expiresAt] = JSON.parse(payload.toString('utf8')) as [string, number]
  return expiresAt > now ? { callId, expiresAt } : null
}

function mac(rootKey: RootKey, payload: Buffer): Buffer {
  return createHmac('sha256', rootKey.subkey('media-url-signing')).update(payload).digest()
}
