import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Environment } from '../../api/actor.js'
import { base62, constantTimeEqual, randomBase62 } from '../../base/crypto.js'

const RANDOM_LENGTH = 32
const CHECK_LENGTH = 6 // 62^6 > 2^32
const START_LENGTH = 13
const KEY = /^svc_(test|live)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/**
 * Returns a new secret key: `svc_test_` or `svc_live_`, 32 random base62 characters (190 bits), and 6
 * characters of CRC-32 over all before them. Scanners can so recognise keys, and typing errors are found
 * without the database.
 */
export function newKey(environment: Environment): string {
  const body = `svc_${environment}_${randomBase62(RANDOM_LENGTH)}`
  return body + checkOf(body)
}

/** Returns the environment of a well-formed key, else null. */
export function keyEnvironment(key: string): Environment | null {
  const [, environment, , check] = KEY.exec(key) ?? []
  if (check === undefined || !constantTimeEqual(check, checkOf(key.slice(0, -CHECK_LENGTH)))) return null
  return environment === 'live' ? 'live' : 'test'
}

/** Returns the prefix that may be shown again. */
export function keyStart(key: string): string {
  return key.slice(0, START_LENGTH)
}

/** Returns the stored hash: hex HMAC-SHA256 with a secret that is not in the database. */
export function keyHash(pepper: Buffer, key: string): string {
  return createHmac('sha256', pepper).update(key).digest('hex')
}

function checkOf(body: string): string {
  return base62(crc32(body), CHECK_LENGTH)
}
