import { createHmac, randomBytes } from 'node:crypto'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'

export const RECOVERY_CODES = 10
/** Crockford's base 32 in lower case: no i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 16 characters hold 80 bits. */
const LENGTH = 16

/** Replaces the recovery codes of an account. Returns the new ones, of which only hashes are stored. */
export async function replaceRecoveryCodes(
  trx: Trx,
  rootKey: RootKey,
  userId: string,
  now: number,
): Promise<readonly string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, newCode)
  await deleteRecoveryCodes(trx, userId)
  await trx
    .insertInto('recoveryCodes')
    .values(
      codes.map((code) => ({ hash: hashOf(rootKey, userId, code), userId, createdAt: now, usedAt: null })),
    )
    .execute()
  return codes
}

export async function deleteRecoveryCodes(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('recoveryCodes').where('userId', '=', userId).execute()
}

/** Returns the number of codes of an account that were not used. */
export async function recoveryCodesLeft(db: Db | Trx, userId: string): Promise<number> {
  const { left } = await db
    .selectFrom('recoveryCodes')
    .where('userId', '=', userId)
    .where('usedAt', 'is', null)
    .select((eb) => eb.fn.countAll<number>().as('left'))
    .executeTakeFirstOrThrow()
  return Number(left)
}

/** Returns the possible hashes of a typed code, one per configured root key, or null if the text is no code. */
export function recoveryHashes(rootKey: RootKey, userId: string, typed: string): readonly string[] | null {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  if (code.length !== LENGTH || [...code].some((letter) => !ALPHABET.includes(letter))) return null
  return [rootKey, ...rootKey.previous].map((key) => hashOf(key, userId, code))
}

/** Marks a code as used. Returns false if there is no such code or it was used before. */
export async function useRecoveryCode(
  trx: Trx,
  userId: string,
  hashes: readonly string[],
  now: number,
): Promise<boolean> {
  const used = await trx
    .updateTable('recoveryCodes')
    .set({ usedAt: now })
    .where('userId', '=', userId)
    .where('hash', 'in', hashes)
    .where('usedAt', 'is', null)
    .executeTakeFirst()
  return used.numUpdatedRows === 1n
}

/** Returns a code in groups of four: `a1b2-c3d4-e5f6-g7h8`. */
function newCode(): string {
  // 256 is a multiple of 32, so that each character is equally likely.
  const text = [...randomBytes(LENGTH)].map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

function hashOf(rootKey: RootKey, userId: string, code: string): string {
  return createHmac('sha256', rootKey.subkey('recovery-codes'))
    .update(`${userId} ${code.replaceAll('-', '')}`)
    .digest('hex')
}
