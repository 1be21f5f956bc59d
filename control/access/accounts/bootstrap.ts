import type { Clock } from '../../../media/base/clock.js'
import { newId } from '../../../media/base/ids.js'
import type { Environment, Scope } from '../../api/actor.js'
import { randomBase62 } from '../../base/crypto.js'
import type { PasswordHasher } from '../../base/passwords.js'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'
import { type CreatedKey, createKey } from '../keys/api-keys.js'

export interface Bootstrap {
  readonly organizationId: string
  readonly email: string
  /** Shown once. Only its scrypt hash is stored. */
  readonly password: string
  readonly testKey: string
  readonly liveKey: string
}

interface BootstrapDeps {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Clock
  readonly passwords: PasswordHasher
}

const OWNER_EMAIL = 'owner@localhost'

/**
 * Makes the first organization in an empty database, with its owner and one admin key per environment.
 * Returns what must be shown once, or null when an organization exists. `more` adds seed data in the same
 * transaction.
 */
export async function bootstrap(
  { db, rootKey, clock, passwords }: BootstrapDeps,
  more: (trx: Trx, organizationId: string) => Promise<void> = async () => {},
): Promise<Bootstrap | null> {
  if (await hasOrganization(db)) return null
  const password = randomBase62(20)
  const passwordHash = await passwords.hash(password)
  return db.transaction().execute(async (trx) => {
    const now = clock.wall()
    const userId = newId('usr', now)
    // Two processes may start on one empty database. The unique address lets only one of them succeed.
    const owner = await trx
      .insertInto('users')
      .values({
        id: userId,
        email: OWNER_EMAIL,
        name: 'Owner',
        passwordHash,
        createdAt: now,
        emailVerifiedAt: now,
      })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (owner === undefined) return null
    const organizationId = newId('org', now)
    await trx
      .insertInto('organizations')
      // `transactional` has no calling hours, so that a demo or a CI run passes the gate at any time.
      .values({
        id: organizationId,
        name: 'My workspace',
        senderClassification: 'transactional',
        createdAt: now,
      })
      .execute()
    await trx
      .insertInto('members')
      .values({ organizationId, userId, role: 'owner', createdAt: now })
      .execute()
    const first = (environment: Environment): Promise<CreatedKey> =>
      createKey(trx, rootKey, clock, {
        organizationId,
        createdBy: userId,
        environment,
        name: `First ${environment} key`,
        scopes: ['admin'],
        expiresAt: null,
      })
    const test = await first('test')
    const live = await first('live')
    await more(trx, organizationId)
    return { organizationId, email: OWNER_EMAIL, password, testKey: test.key, liveKey: live.key }
  })
}

/**
 * Creates a key for the command line in the name of the first organization's first owner. Returns null when
 * the database is empty.
 */
export async function createOperatorKey(
  db: Db,
  rootKey: RootKey,
  clock: Clock,
  wanted: { environment: Environment; scopes: readonly Scope[]; name: string; expiresAt: number | null },
): Promise<CreatedKey | null> {
  const owner = await db
    .selectFrom('members')
    .where('role', '=', 'owner')
    .select(['organizationId', 'userId'])
    .orderBy('createdAt')
    .orderBy('userId')
    .executeTakeFirst()
  if (owner === undefined) return null
  return createKey(db, rootKey, clock, {
    organizationId: owner.organizationId,
    createdBy: owner.userId,
    ...wanted,
  })
}

async function hasOrganization(db: Db): Promise<boolean> {
  return (await db.selectFrom('organizations').select('id').limit(1).executeTakeFirst()) !== undefined
}
