import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RootKey } from './root-key.js'

/** Purpose of a signed address. An address of one purpose is invalid for another. */
export type AddressPurpose = 'recording' | 'upload' | 'checkout' | 'handoff' | 'listen' | 'browser_call'

/** Rights of a signed address. */
export interface AddressGrant {
  /** Id of the only thing that the address gives access to. */
  readonly subject: string
  /** Unix ms. */
  readonly expiresAt: number
  /** Organization of the subject. Addresses of uploads have one: idempotency keys belong to an organization. */
  readonly organizationId?: string
}

const MAC_BYTES = 32

type Payload = [purpose: string, subject: string, expiresAt: number, organizationId?: string | null]

/** Returns the token of an address: `base64url(HMAC-SHA256 || payload)`. Nothing is stored. */
export function writeAddressToken(rootKey: RootKey, purpose: AddressPurpose, grant: AddressGrant): string {
  const payload = Buffer.from(JSON.stringify([purpose, grant.subject, grant.expiresAt, grant.organizationId]))
  return Buffer.concat([mac(rootKey, payload), payload]).toString('base64url')
}

/**
 * Returns the grant of a token that this service made for the purpose and that has not expired at `now`, else
 * null.
 */
export function readAddressToken(
  rootKey: RootKey,
  purpose: AddressPurpose,
  token: string,
  now: number,
): AddressGrant | null {
  const bytes = Buffer.from(token, 'base64url')
  // base64url has several spellings of the same bytes. Only the canonical one is accepted.
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null
  const payload = bytes.subarray(MAC_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(rootKey, payload))) return null
  // The token is authentic, so it has the format written above.
  const [made, subject, expiresAt, organizationId] = JSON.parse(payload.toString('utf8')) as Payload
  if (made !== purpose || expiresAt <= now) return null
  return { subject, expiresAt, ...(typeof organizationId === 'string' ? { organizationId } : {}) }
}

function mac(rootKey: RootKey, payload: Buffer): Buffer {
  return createHmac('sha256', rootKey.subkey('address-signing')).update(payload).digest()
}
