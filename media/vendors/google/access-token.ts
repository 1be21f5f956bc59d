import { createSign } from 'node:crypto'
import type { ServiceAccount } from './settings.js'

/** The service that the token is for, whatever the location. */
const AUDIENCE = 'https://speech.googleapis.com/'
const LIFETIME_S = 3600
/** A token is not used in its last minutes, so that a clock that is wrong does no harm. */
const SPARE_S = 300

/**
 * Signs tokens of a service account. The account's key stays here: the vendor takes the signed token itself, so that no
 * token service is asked. https://developers.google.com/identity/protocols/oauth2/service-account#jwt-auth
 */
export class AccessTokens {
  readonly #account: ServiceAccount
  #token = ''
  #expiresS = 0

  constructor(account: ServiceAccount) {
    this.#account = account
  }

  /** Returns a token that is valid for some minutes. Throws when the private key is none. */
  at(nowS: number): string {
    if (nowS < this.#expiresS - SPARE_S) return this.#token
    const { email, keyId, privateKey } = this.#account
    const head = part({ alg: 'RS256', typ: 'JWT', kid: keyId })
    const claims = part({ iss: email, sub: email, aud: AUDIENCE, iat: nowS, exp: nowS + LIFETIME_S })
    const signature = createSign('RSA-SHA256').update(`${head}.${claims}`).sign(privateKey, 'base64url')
    this.#token = `${head}.${claims}.${signature}`
    this.#expiresS = nowS + LIFETIME_S
    return this.#token
  }
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
