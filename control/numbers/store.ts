import { sql } from 'kysely'
import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { recordTargets, type SecretChange } from '../secrets/host-store.js'
import { setSecretUses } from '../secrets/store.js'
import type { StoredEndpoint } from './media-endpoint.js'
import { endSipBinding } from './sip-binding.js'

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

/** Returns a page of numbers, newest first. */
export async function listNumbers(
  db: Db,
  owner: Owner,
  { status }: { readonly status?: string | undefined },
  page: PageRequest,
): Promise<Page<NumberRow>> {
  const all = assigned(db, owner)
  return newestFirst(status === undefined ? all : all.where(sql<string>`"status"`, '=', status), page)
}

/** Changes of a number. The endpoint is not serialized yet. */
export type NumberChange = Partial<
  Pick<NumberRow, 'agentId' | 'label' | 'recordCalls' | 'routingMode' | 'byoFallback'> & {
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

/** Switches inbound calls. Returns null if the number does not exist. */
export async function setInboundSwitch(
  trx: Trx,
  owner: Owner,
  id: string,
  inbound: 'pending' | 'ready' | 'disabled',
): Promise<NumberRow | null> {
  const row = await trx
    .updateTable('numbers')
    .set({ inbound, inboundReason: null })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('releasedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Provider of the numbers that customers bring on their own trunks. */
export const IMPORTED = 'sip_trunk'

/** Returns an assigned number of the sandbox or of a carrier, of any organization. Null if there is none. */
export async function findCarrierNumber(db: Db | Trx, e164: string): Promise<NumberRow | null> {
  const row = await db
    .selectFrom('numbers')
    .selectAll()
    .where('e164', '=', e164)
    .where('provider', '!=', IMPORTED)
    .where('releasedAt', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Returns an assigned number of an organization, or null. If it has the number from a carrier and on a trunk,
 * `trunkId` decides.
 */
export async function findOwnNumber(
  db: Db | Trx,
  owner: Owner,
  e164: string,
  trunkId: string | null = null,
): Promise<NumberRow | null> {
  const rows = await assigned(db, owner).where('e164', '=', e164).orderBy('id').execute()
  return rows.find((row) => row.sipTrunkId === trunkId) ?? rows[0] ?? null
}

/** Counts the numbers of a trunk, without released ones. */
export async function countNumbers(db: Db | Trx, owner: Owner, trunkId: string): Promise<number> {
  const row = await assigned(db, owner)
    .clearSelect()
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('sipTrunkId', '=', trunkId)
    .executeTakeFirstOrThrow()
  return row.count
}

export interface NewNumber {
  readonly organizationId: string
  readonly environment: Environment
  readonly e164: string
  readonly label: string
  readonly provider: string
  readonly region: string
  readonly numberType: string
  /** Default: `regular`. */
  readonly series?: string
  /** Trunk of an imported number. */
  readonly sipTrunkId?: string
}

/** Inserts an active number without costs. Returns null if the number is already assigned. */
export async function insertNumber(db: Db | Trx, number: NewNumber, now: number): Promise<NumberRow | null> {
  const row = await db
    .insertInto('numbers')
    .values({
      id: newId('num', now),
      series: 'regular',
      ...number,
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
      byoFallback: 'hangup',
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Releases a number: it stays readable by its id. Returns false if it was released before. */
export async function releaseNumber(trx: Trx, owner: Owner, id: string, now: number): Promise<boolean> {
  const row = await trx
    .updateTable('numbers')
    .set({ releasedAt: now, status: 'released', agentId: null, mediaEndpoint: null, sipTrunk: null })
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('releasedAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) return false
  await endSipBinding(trx, id, now)
  await setSecretUses(trx, { type: 'number', id }, [])
  return true
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
