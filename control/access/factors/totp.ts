import { Secret, TOTP } from 'otpauth'
import { unsealWithAnyKey } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'

/** 160 bits, the length that RFC 4226 section 4 recommends. */
const SECRET_BYTES = 20
/**
 * Number of steps before and after the current one that are accepted, for clocks that are wrong (RFC 6238 section
 * 5.2).
 */
const WINDOW = 1
const PERIOD_S = 30

export const FACTOR_ISSUER = 'Parley'

/** Returns a new secret in base 32. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** Returns the address that authenticator apps read from a QR code. `label` is the address of the account. */
export function totpUri(secret: string, label: string): string {
  return generator(secret, label).toString()
}

/**
 * Returns the time step of a code, or null if the code is wrong. The comparison takes constant time. The caller has to
 * accept each step once (RFC 6238 section 5.2).
 */
export function totpStep(secret: string, code: string, now: number): number | null {
  const delta = generator(secret, '').validate({ token: code, timestamp: now, window: WINDOW })
  return delta === null ? null : Math.floor(now / 1000 / PERIOD_S) + delta
}

/** Decrypts the secret of a stored factor. */
export function openTotpSecret(rootKey: RootKey, id: string, sealed: string): string {
  return unsealWithAnyKey(rootKey, 'factor-secrets', sealed, id)
}

function generator(secret: string, label: string): TOTP {
  return new TOTP({
    issuer: FACTOR_ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_S,
    secret: Secret.fromBase32(secret),
  })
}
