import { createHmac, randomInt } from 'node:crypto'
import { languageData } from '../../media/agent/language/language-data.js'
import type { RootKey } from '../base/root-key.js'
import type { Owner } from './store.js'

/** Returns the code of a new verification call: six digits; zeros in the test environment. */
export function newCode(environment: Owner['environment']): string {
  return environment === 'test' ? '000000' : String(randomInt(1_000_000)).padStart(6, '0')
}

/** Returns the stored form of a code. The key makes it useless to a reader of the database. */
export function hashCode(rootKey: RootKey, destinationId: string, code: string): string {
  return createHmac('sha256', rootKey.subkey('destination-codes'))
    .update(`${destinationId}:${code}`)
    .digest('hex')
}

/** Returns what a verification call says: the code twice, digit by digit. */
export function verificationText(language: string, code: string): string {
  const { spokenDigits, verification } = languageData(language)
  const digits = [...code].map((digit) => spokenDigits[Number(digit)] ?? digit).join(', ')
  const { announcement, code: first, again } = verification
  return [announcement, first, again].join(' ').replaceAll('{digits}', () => digits)
}
