import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { recordTargets, type SecretChange } from '../secrets/host-store.js'
import { setSecretUses } from '../secrets/store.js'
import type { StoredEndpoint } from './media-endpoint.js'

type Environment = 'test' | 'live'

export interface Owner {
  readonly organizationId: string
  readonly environment: Environment
}

/** Returns a number of one environment, or null if it does not exist or was released. */
export async function findNumber(db: Db | Trx, owner: Owner, id: string): Promise<NumberRow | null> {
  return (await assigned(db, owner).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns a number of one environment, also after its release, or null if it does not exist. */
export async function findNumberEver(db: Db | Trx, owner: Owner, id: string): Promise<NumberRow | null> {
  return (await owned(db, owner).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns true if the organization has the number in the other environment. */
export async function existsInOtherEnvironment(db: Db | Trx, owner: Owner, id: string): Promise<boolean> {
  const other: Owner = { ...owner, environment: owner.environment === 'test' ? 'live' : 'test' }
  return (await findNumber(db, other, id)) !== null
}

/** Returns a page of numbers, newest first. */
export async function listNumbers(db: Db, owner: Owner, page: PageRequest): Promise<Page<NumberRow>> {
  return newestFirst(assigned(db, owner), page)
}

/** Changes of a number. The endpoint is not serialized yet. */
export type NumberChange = Partial<
  Pick<NumberRow, 'agentId' | 'label' | 'recordCalls' | 'routingMode'> & {
    readonly mediaEndpoint: StoredEndpoint | null
  }
>

/** Updates a number. Rejects with a foreign key violation if the secret of the endpoint does not exist. */
export async function updateNumber(
  db: Db,
  owner: Owner,
  id: string,
  change: NumberChange,
  by: Omit<SecretChange, 'organizationId'>,
): Promise<NumberRow | null> {
  if (Object.keys(change).length === 0) return findNumber(db, owner, id)
  const { mediaEndpoint, ...plain } = change
  const text = mediaEndpoint ? JSON.stringify(mediaEndpoint) : null
  return db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('numbers')
      .set({ ...plain, ...(mediaEndpoint === undefined ? {} : { mediaEndpoint: text }) })
      .where('id', '=', id)
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .where('releasedAt', 'is', null)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return null
    if (mediaEndpoint !== undefined) {
      const secretId = mediaEndpoint?.authSecretId ?? null
      await setSecretUses(trx, { type: 'number', id }, secretId === null ? [] : [secretId])
      const targets = mediaEndpoint && secretId !== null ? [{ secretId, url: mediaEndpoint.url }] : []
      await recordTargets(trx, targets, { ...by, organizationId: owner.organizationId })
    }
    return row
  })
}

/** Returns an assigned number of any organization, or null if it is not assigned. */
export async function findNumberByE164(db: Db | Trx, e164: string): Promise<NumberRow | null> {
  const row = await db
    .selectFrom('numbers')
    .selectAll()
    .where('e164', '=', e164)
    .where('releasedAt', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

export interface NewNumber {
  readonly organizationId: string
  readonly environment: Environment
  readonly e164: string
  readonly label: string
  readonly provider: string
  readonly region: string
  readonly numberType: string
}

/** Inserts an active number without costs. Returns null if the number is already assigned. */
export async function insertNumber(db: Db | Trx, number: NewNumber, now: number): Promise<NumberRow | null> {
  const row = await db
    .insertInto('numbers')
    .values({
      id: newId('num', now),
      ...number,
      series: 'regular',
      rentalPaise: 0,
      setupPaise: 0,
      renewalCycle: 'anniversary',
      nextRentalAt: null,
      purchasedAt: now,
      releaseAt: null,
      releasedAt: null,
      status: 'active',
      inbound: 'ready',
      routingMode: 'svc_agent',
      agentId: null,
      recordCalls: 1,
      mediaEndpoint: null,
      createdAt: now,
    })
    .onConflict((conflict) => conflict.column('e164').where('releasedAt', 'is', null).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

function owned(db: Db | Trx, owner: Owner) {
  return db
    .selectFrom('numbers')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
}

function assigned(db: Db | Trx, owner: Owner) {
  return owned(db, owner).where('releasedAt', 'is', null)
}
