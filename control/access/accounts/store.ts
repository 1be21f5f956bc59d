import type { Selectable } from 'kysely'
import { newId } from '../../../media/base/ids.js'
import { isForeignKeyViolation } from '../../db/constraint-error.js'
import type { Db, Trx } from '../../db/database.js'
import type { UserRow } from '../../db/tables/identity.js'
import { assignMissingSandboxNumbers } from '../../numbers/sandbox-number.js'

export type User = Selectable<UserRow>

export interface NewAccount {
  readonly email: string
  readonly name: string
  readonly passwordHash: string
}

/** Addresses are compared in lower case and not changed otherwise. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase()
}

export function findUserByEmail(db: Db | Trx, email: string): Promise<User | undefined> {
  return db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
}

/** Inserts a user. Returns null when the address has an account already. */
export async function insertUser(
  trx: Db | Trx,
  now: number,
  account: NewAccount & { readonly emailVerifiedAt: number | null; readonly staff?: 0 | 1 },
): Promise<string | null> {
  const made = await trx
    .insertInto('users')
    .values({ id: newId('usr', now), ...account, createdAt: now })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  return made?.id ?? null
}

/** Inserts an organization. It has no sender classification yet; the gate treats that as promotional. */
export async function insertOrganization(
  trx: Trx,
  now: number,
  name: string,
  ownerId: string,
): Promise<string> {
  const id = newId('org', now)
  await trx
    .insertInto('organizations')
    .values({ id, name, senderClassification: null, createdAt: now })
    .execute()
  await trx
    .insertInto('members')
    .values({ organizationId: id, userId: ownerId, role: 'owner', createdAt: now })
    .execute()
  return id
}

/**
 * Records that the user's address is verified. The user's organizations now get their sandbox number; not
 * earlier, because these numbers are few and anybody can sign up. Returns false if the address was verified
 * before.
 */
export async function markEmailVerified(trx: Trx, userId: string, now: number): Promise<boolean> {
  const first = await trx
    .updateTable('users')
    .set({ emailVerifiedAt: now })
    .where('id', '=', userId)
    .where('emailVerifiedAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  if (first === undefined) return false
  await assignMissingSandboxNumbers(trx, userId, now)
  return true
}

export async function setPassword(trx: Db | Trx, userId: string, passwordHash: string): Promise<void> {
  await trx.updateTable('users').set({ passwordHash }).where('id', '=', userId).execute()
}

/** Time after which an unverified account is deleted and its address can sign up again (ms). */
export const UNVERIFIED_KEPT_MS = 7 * 24 * 3_600_000
/** Number of accounts per round. */
const CHUNK = 100

/**
 * Deletes accounts that were never verified, with their organizations. An account is kept when staff or an
 * invitation changed its organization meanwhile.
 */
export async function sweepUnverifiedUsers(db: Db, now: number): Promise<boolean> {
  const accounts = await db
    .selectFrom('users')
    .select('id')
    .where('emailVerifiedAt', 'is', null)
    .where('staff', '=', 0)
    .where('createdAt', '<=', now - UNVERIFIED_KEPT_MS)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('members')
            .innerJoin('auditEntries', 'auditEntries.organizationId', 'members.organizationId')
            .select('auditEntries.id')
            .whereRef('members.userId', '=', 'users.id'),
        ),
      ),
    )
    .orderBy('createdAt')
    .limit(CHUNK)
    .execute()
  let deleted = 0
  for (const { id } of accounts) if (await deleteUnverified(db, id)) deleted++
  // Accounts that cannot be deleted must not repeat the round forever.
  return accounts.length === CHUNK && deleted > 0
}

/** Rolls the deletion back. */
class Confirmed extends Error {}

/**
 * Returns false, and deletes nothing, when the address was verified meanwhile or other rows reference the
 * user.
 */
async function deleteUnverified(db: Db, userId: string): Promise<boolean> {
  try {
    return await db.transaction().execute(async (trx) => {
      // Deletes in the same order as a verification locks, so that one waits for the other.
      await trx.deleteFrom('mailTokens').where('subjectId', '=', userId).execute()
      const still = await trx
        .updateTable('users')
        .set({ name: '' })
        .where('id', '=', userId)
        .where('emailVerifiedAt', 'is', null)
        .returning('id')
        .executeTakeFirst()
      if (still === undefined) throw new Confirmed()
      const owned = await trx.deleteFrom('members').where('userId', '=', userId).returningAll().execute()
      for (const { organizationId } of owned) {
        await trx.deleteFrom('organizations').where('id', '=', organizationId).execute()
      }
      await trx.deleteFrom('users').where('id', '=', userId).execute()
      return true
    })
  } catch (error) {
    if (error instanceof Confirmed || isForeignKeyViolation(error)) return false
    throw error
  }
}
