import { randomBytes } from 'node:crypto'
import { newId } from '../../../media/base/ids.js'
import { seal } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'
import type { FactorChallengeRow, SecondFactorRow } from '../../db/tables/factors.js'
import type { StoredPasskey } from './passkeys.js'

/** Maximum number of factors of one account. */
export const MAX_FACTORS = 10
/** Time in which a new factor has to be confirmed (ms). */
export const PENDING_MS = 10 * 60_000
/** Time in which a proof has to be given (ms), and the maximum number of tries. */
export const CHALLENGE_MS = 5 * 60_000
export const MAX_TRIES = 5

/** Returns the confirmed factors of an account, oldest first. */
export async function listFactors(db: Db | Trx, userId: string): Promise<readonly SecondFactorRow[]> {
  return db
    .selectFrom('secondFactors')
    .selectAll()
    .where('userId', '=', userId)
    .where('confirmedAt', 'is not', null)
    .orderBy('confirmedAt')
    .orderBy('id')
    .execute()
}

export async function hasFactor(db: Db | Trx, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('secondFactors')
    .where('userId', '=', userId)
    .where('confirmedAt', 'is not', null)
    .select('id')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Locks the factors of an account until the transaction ends. */
export async function lockAccount(trx: Trx, userId: string): Promise<void> {
  await trx
    .updateTable('users')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', userId)
    .execute()
}

/** A factor that is not confirmed yet. */
export type NewFactor =
  | { readonly kind: 'totp'; readonly name: string; readonly secret: string }
  | { readonly kind: 'passkey'; readonly name: string; readonly challenge: string }

/** Inserts a factor that can be confirmed. It replaces an unconfirmed one of the account. */
export async function insertPendingFactor(
  trx: Trx,
  rootKey: RootKey,
  userId: string,
  factor: NewFactor,
  now: number,
): Promise<SecondFactorRow> {
  const id = newId('fac', now)
  await trx
    .deleteFrom('secondFactors')
    .where('userId', '=', userId)
    .where('confirmedAt', 'is', null)
    .execute()
  const sealed = factor.kind === 'totp' ? seal(rootKey.subkey('factor-secrets'), factor.secret, id) : null
  return trx
    .insertInto('secondFactors')
    .values({
      id,
      userId,
      kind: factor.kind,
      name: factor.name,
      sealed,
      lastStep: null,
      credentialId: null,
      publicKey: null,
      counter: null,
      transports: null,
      rpId: null,
      challenge: factor.kind === 'passkey' ? factor.challenge : null,
      createdAt: now,
      expiresAt: now + PENDING_MS,
      confirmedAt: null,
      lastUsedAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns a factor of the account that can be confirmed. */
export async function findPendingFactor(
  db: Db | Trx,
  userId: string,
  id: string,
  now: number,
): Promise<SecondFactorRow | null> {
  const row = await db
    .selectFrom('secondFactors')
    .selectAll()
    .where('id', '=', id)
    .where('userId', '=', userId)
    .where('confirmedAt', 'is', null)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  return row ?? null
}

/** The result of the first code or of the registration of a passkey. */
export type Confirmation = { readonly step: number } | StoredPasskey

/** Confirms a factor. Returns null if it was confirmed, replaced or removed before. */
export async function confirmFactor(
  trx: Trx,
  id: string,
  proof: Confirmation,
  now: number,
): Promise<SecondFactorRow | null> {
  const proven =
    'step' in proof ? { lastStep: proof.step } : { ...proof, transports: JSON.stringify(proof.transports) }
  const row = await trx
    .updateTable('secondFactors')
    .set({ ...proven, challenge: null, expiresAt: null, confirmedAt: now, lastUsedAt: now })
    .where('id', '=', id)
    .where('confirmedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Marks a time step as used. Returns false if a code of it or of a later step was accepted before. */
export async function acceptStep(trx: Trx, id: string, step: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('secondFactors')
    .set({ lastStep: step, lastUsedAt: now })
    .where('id', '=', id)
    .where('confirmedAt', 'is not', null)
    .where((eb) => eb.or([eb('lastStep', 'is', null), eb('lastStep', '<', step)]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Stores the counter of an accepted passkey. Returns false if another answer with this counter was accepted before. */
export async function acceptCounter(trx: Trx, id: string, counter: number, now: number): Promise<boolean> {
  let query = trx
    .updateTable('secondFactors')
    .set({ counter, lastUsedAt: now })
    .where('id', '=', id)
    .where('confirmedAt', 'is not', null)
  // A passkey without a counter always sends 0.
  query = counter === 0 ? query.where('counter', '=', 0) : query.where('counter', '<', counter)
  return (await query.executeTakeFirst()).numUpdatedRows === 1n
}

export async function deleteFactor(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('secondFactors').where('id', '=', id).execute()
}

/** Removes all factors of an account, also the unconfirmed ones. Returns the number of confirmed ones. */
export async function deleteFactors(trx: Trx, userId: string): Promise<number> {
  const rows = await trx
    .deleteFrom('secondFactors')
    .where('userId', '=', userId)
    .returning('confirmedAt')
    .execute()
  return rows.filter(({ confirmedAt }) => confirmedAt !== null).length
}

/** Makes a request for a proof. `sessionId` is null for a sign-in. */
export async function insertChallenge(
  db: Db | Trx,
  userId: string,
  sessionId: string | null,
  now: number,
): Promise<FactorChallengeRow> {
  return db
    .insertInto('factorChallenges')
    .values({
      id: newId('mfc', now),
      userId,
      sessionId,
      challenge: randomBytes(32).toString('base64url'),
      tries: 0,
      createdAt: now,
      expiresAt: now + CHALLENGE_MS,
      usedAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findChallenge(db: Db, id: string): Promise<FactorChallengeRow | null> {
  return (await db.selectFrom('factorChallenges').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** Counts a try. Returns the number of tries that are left after it, or null if none was left. */
export async function countTry(db: Db, id: string, now: number): Promise<number | null> {
  const row = await db
    .updateTable('factorChallenges')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('id', '=', id)
    .where('tries', '<', MAX_TRIES)
    .where('usedAt', 'is', null)
    .where('expiresAt', '>', now)
    .returning('tries')
    .executeTakeFirst()
  return row === undefined ? null : MAX_TRIES - row.tries
}

/** Marks a challenge as used. Returns false if it was used before. */
export async function useChallenge(trx: Trx, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('factorChallenges')
    .set({ usedAt: now })
    .where('id', '=', id)
    .where('usedAt', 'is', null)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes challenges and unconfirmed factors whose time is over. */
export async function sweepFactors(db: Db, now: number): Promise<void> {
  await db.deleteFrom('factorChallenges').where('expiresAt', '<=', now).execute()
  await db
    .deleteFrom('secondFactors')
    .where('confirmedAt', 'is', null)
    .where('expiresAt', '<=', now)
    .execute()
}
