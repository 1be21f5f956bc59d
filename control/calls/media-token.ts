import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RootKey } from '../base/root-key.js'

/** How long a handed-out address works. */
export const MEDIA_LINK_MS = 10 * 60_000

/** Names one recording until a moment. Whoever holds the token may fetch it: nothing else is asked. */
export interface MediaGrant {
  readonly callId: string
  /** Unix ms. */
  readonly expiresAt: number
}

const MAC_BYTES = 32

/** `base64url(HMAC-SHA256 || payload)`; nothing is stored. */
export function writeMediaToken(rootKey: RootKey, grant: MediaGrant): string {
  const payload = Buffer.from(JSON.stringify([grant.callId, grant.expiresAt]))
  return Buffer.concat([mac(rootKey, payload), payload]).toString('base64url')
}

/** The grant of a token of ours that has not expired at `now`; null for anything else. */
export function readMediaToken(rootKey: RootKey, token: string, now: number): MediaGrant | null {
  const bytes = Buffer.from(token, 'base64url')
  // base64url has several spellings of the same bytes; only ours is a token.
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null
  const payload = bytes.subarray(MAC_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(rootKey, payload))) return null
  // Authentic, so it has the shape written above.
  const [callId, expiresAt] = JSON.parse(payload.toString('utf8')) as [string, number]
  return expiresAt > now ? { callId, expiresAt } : null
}

function mac(rootKey: RootKey, payload: Buffer): Buffer {
  return createHmac('sha256', rootKey.subkey('media-url-signing')).update(payload).digest()
}
