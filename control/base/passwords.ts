import { randomBytes, timingSafeEqual } from 'node:crypto'
import { deriveKey, type ScryptCost } from './scrypt.js'

/** OWASP's advice for scrypt (N=2^15, r=8, p=3): about 50 ms and 32 MiB on one core. */
const PASSWORD_COST: ScryptCost = { N: 32_768, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const HASH_BYTES = 32

/** Hashes and checks passwords with scrypt (RFC 7914), on the thread pool. */
export interface PasswordHasher {
  /** Matches no password. Checking against it takes as long as checking against a real hash. */
  readonly unknownHash: string
  /** Returns `scrypt$N$r$p$salt$hash`; salt and hash are base64. */
  hash(password: string): Promise<string>
  /** Returns whether `password` has the hash `stored`; false for a malformed hash. */
  verify(password: string, stored: string): Promise<boolean>
}

/** Opens a hasher. Tests pass a cheap `cost`; stored hashes carry their own. */
export function openPasswordHasher(cost: ScryptCost = PASSWORD_COST): PasswordHasher {
  const format = (salt: Buffer, hash: Buffer): string =>
    ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), hash.toString('base64')].join('$')
  return {
    unknownHash: format(randomBytes(16), randomBytes(HASH_BYTES)),
    async hash(password) {
      const salt = randomBytes(16)
      return format(salt, await deriveKey('new_password', password, salt, HASH_BYTES, cost))
    },
    async verify(password, stored) {
      const [scheme, n, r, p, salt, hash] = stored.split('$')
      if (scheme !== 'scrypt' || salt === undefined || hash === undefined) return false
      const expected = Buffer.from(hash, 'base64')
      const stated = { N: Number(n), r: Number(r), p: Number(p), maxmem: PASSWORD_COST.maxmem }
      const actual = await deriveKey('sign_in', password, Buffer.from(salt, 'base64'), HASH_BYTES, stated)
      return expected.length === actual.length && timingSafeEqual(expected, actual)
    },
  }
}
