import { randomBytes, randomInt } from 'node:crypto'
import { randomBase62 } from '../base/crypto.js'

const PASSWORD_LENGTH = 20

/** Returns a random user name: `p` and 11 hexadecimal digits, which every carrier and PBX accepts. */
export function newDigestUsername(): string {
  return `p${randomBytes(6).toString('hex').slice(1)}`
}

/**
 * Returns a random password of 20 letters, digits and one underscore. Some carriers demand a special character, and
 * the underscore is the only one that all of them accept.
 */
export function newDigestPassword(): string {
  const text = randomBase62(PASSWORD_LENGTH - 1)
  const at = randomInt(1, PASSWORD_LENGTH - 1)
  return `${text.slice(0, at)}_${text.slice(at)}`
}
