import { createHash } from 'node:crypto'

/*
 * The hashes of sealed records (docs/evidence.md). Hashes, keys and salts are lower-case hex digits.
 */

/** Hash before the first record of a chain. */
export const GENESIS_HASH = '0'.repeat(64)

/** Returns SHA-256 (hex) over a UTF-8 text. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Returns the hash of a link: SHA-256 over the UTF-8 text `prevHash` and the record's text. */
export function hashOf(prevHash: string, record: string): string {
  return createHash('sha256').update(prevHash).update(record).digest('hex')
}

/** Returns the id of a raw public key: the first 16 digits of SHA-256 over its bytes. */
export function keyIdOf(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'hex')).digest('hex').slice(0, 16)
}

/** Returns SHA-256 over the bytes of the salt and the UTF-8 text. */
export function commitmentOf(salt: string, text: string): string {
  return createHash('sha256').update(Buffer.from(salt, 'hex')).update(text).digest('hex')
}
