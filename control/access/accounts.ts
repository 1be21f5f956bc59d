import type { Selectable } from 'kysely'
import { newId } from '../../media/base/ids.js'
import type { UserRow } from '../db/identity-tables.js'
import type { Db, Trx } from '../db/open.js'
import { seedSandboxNumber } from '../numbers/seed.js'

export type User = Selectable<UserRow>

export interface NewAccount {
  readonly email: string
  readonly name: string
  readonly passwordHash: string
}

/** Addresses are compared in lower case; nothing else about them is changed. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase()
}

export function findUserByEmail(db: Db | Trx, email: string): Promise<User | undefined> {
  return db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
}

/** Null when the address has an account already. */
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

/** A new organization has no sender classification; the gate treats that as promotional. */
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
 * Notes that an address was proved. The organizations that its owner signed up get their sandbox
 * number now and not before: there are only so many, and anybody can sign up.
 */
export async function markVerified(trx: Trx, userId: string, now: number): Promise<void> {
  const first = await trx
    .updateTable('users')
    .set({ emailVerifiedAt: now })
    .where('id', '=', userId)
    .where('emailVerifiedAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  if (first === undefined) return
  const owned = await trx
    .selectFrom('members')
    .where('userId', '=', userId)
    .where('role', '=', 'owner')
    .select('organizationId')
    .execute()
  for (const { organizationId } of owned) {
    const number = await trx
      .selectFrom('numbers')
      .where('organizationId', '=', organizationId)
      .where('environment', '=', 'test')
      .select('id')
      .executeTakeFirst()
    if (number === undefined) await seedSandboxNumber(trx, organizationId, now)
  }
}

export async function setPassword(trx: Db | Trx, userId: string, passwordHash: string): Promise<void> {
  await trx.updateTable('users').set({ passwordHash }).where('id', '=', userId).execute()
}
