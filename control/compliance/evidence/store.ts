import { type SelectQueryBuilder, sql } from 'kysely'
import { EngineError } from '../../../media/base/errors.js'
import { newId } from '../../../media/base/ids.js'
import { timestamp } from '../../base/schemas.js'
import { builtOnce, insertedOnce } from '../../db/built-once.js'
import type { Db, Trx } from '../../db/database.js'
import type { EvidenceHeadRow, EvidenceRow } from '../../db/tables/calling.js'
import type { Database } from '../../db/tables/schema.js'
import { GENESIS_HASH } from './hashes.js'
import { type Commitment, type EvidenceKeys, type JsonObject, type SigningKey, sealRecord } from './seal.js'

export interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/** A record before it becomes a link of the chain. */
export interface NewRecord {
  /** A new one if it is missing. */
  readonly id?: string
  readonly kind: 'gate' | 'outcome' | 'close' | 'erasure' | 'retention'
  readonly callId: string | null
  readonly gateRunId: string | null
  /** The person of the record. Null for records about the chain. */
  readonly person: Commitment | null
  /** The further members. A function runs when the chain is locked and the records before are stored. */
  readonly part: JsonObject | (() => Promise<JsonObject>)
}

export interface Appended {
  readonly id: string
  readonly seq: number
  readonly hash: string
}

/**
 * Appends a record to its chain. Call it in the transaction of what the record reports. The row of the chain's
 * head stays locked until the commit, so that numbers have no gap and the chain no fork. A chain whose last record
 * has another key first gets a record of kind `key`, in which that key announces the current one.
 */
export async function appendRecord(
  trx: Trx,
  keys: EvidenceKeys,
  owner: Owner,
  record: NewRecord,
  now: number,
): Promise<Appended> {
  const { current } = keys
  let head = await advanceHead(trx, owner)
  if (head.keyId !== current.keyId) {
    await trx
      .insertInto('evidenceKeys')
      .values({ keyId: current.keyId, publicKey: current.publicKey, createdAt: now })
      .onConflict((conflict) => conflict.column('keyId').doNothing())
      .execute()
    if (head.keyId !== null) {
      await insertLink(trx, announcerOf(keys, head.keyId), owner, head, announcementOf(current), now)
      head = await advanceHead(trx, owner)
    }
  }
  return await insertLink(trx, current, owner, head, record, now)
}

/** Locks the head of a chain until the commit. */
export async function lockHead(trx: Trx, { organizationId, environment }: Owner): Promise<void> {
  await trx
    .updateTable('evidenceHeads')
    .set((column) => ({ seq: column.ref('seq') }))
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .execute()
}

const countHeadUp = builtOnce<Owner, EvidenceHeadRow>((db, place) =>
  db
    .updateTable('evidenceHeads')
    .set({ seq: sql<number>`"seq" + 1` })
    .where('organizationId', '=', place('organizationId'))
    .where('environment', '=', place('environment'))
    .returningAll(),
)

/** Counts the head up, which locks it. Returns the number of the next record and the hash before it. */
async function advanceHead(trx: Trx, owner: Owner): Promise<EvidenceHeadRow> {
  const [head] = await countHeadUp(trx, owner)
  if (head !== undefined) return head
  await trx
    .insertInto('evidenceHeads')
    .values({ ...owner, seq: 0, hash: GENESIS_HASH, keyId: null, keptFrom: 1 })
    .onConflict((conflict) => conflict.columns(['organizationId', 'environment']).doNothing())
    .execute()
  const [made] = await countHeadUp(trx, owner)
  if (made === undefined) throw new EngineError('internal', 'the head of an evidence chain was not made')
  return made
}

const insertRows = insertedOnce('evidence')

const setHead = builtOnce<Owner & { readonly hash: string; readonly keyId: string }, unknown>((db, place) =>
  db
    .updateTable('evidenceHeads')
    .set({ hash: place('hash'), keyId: place('keyId') })
    .where('organizationId', '=', place('organizationId'))
    .where('environment', '=', place('environment')),
)

async function insertLink(
  trx: Trx,
  key: SigningKey,
  owner: Owner,
  head: EvidenceHeadRow,
  record: NewRecord | (Omit<NewRecord, 'kind'> & { readonly kind: 'key' }),
  now: number,
): Promise<Appended> {
  const { organizationId, environment } = owner
  const { kind, callId, gateRunId, person } = record
  const part = typeof record.part === 'function' ? await record.part() : record.part
  const { id = newId('evd', now) } = record
  const link = { seq: head.seq, prevHash: head.hash }
  const common = { id, organizationId, environment, kind, callId, gateRunId, sealedAt: timestamp(now) }
  const sealed = sealRecord({ ...common, ...part, ...person?.sealed }, link, key)
  await insertRows(trx, [
    {
      ...{ id, organizationId, environment, kind, callId, gateRunId, sealedAt: now },
      ...(person?.stored ?? { e164: null, salt: null, personal: null }),
      ...link,
      ...sealed,
      keyId: key.keyId,
    },
  ])
  const keyId = kind === 'key' ? String(part.newKeyId) : key.keyId
  await setHead(trx, { organizationId, environment, hash: sealed.hash, keyId })
  return { id, seq: head.seq, hash: sealed.hash }
}

/**
 * Returns the key that announces the current one: the key of the last record. If its root key is not configured any
 * more, the current key announces itself, and the verifier reports a change of keys that nothing proves.
 */
function announcerOf({ current, earlier }: EvidenceKeys, keyId: string): SigningKey {
  return earlier.find((key) => key.keyId === keyId) ?? current
}

function announcementOf({ keyId, publicKey }: SigningKey) {
  return {
    kind: 'key',
    ...{ callId: null, gateRunId: null, person: null },
    part: { newKeyId: keyId, newPublicKey: publicKey },
  } as const
}

/** The last record of a chain, and what a reader needs to verify it. */
export interface ChainHead {
  readonly seq: number
  readonly hash: string
  readonly keptFrom: number
}

/** Returns the head of a chain. A chain without records has number 0 and the genesis hash. */
export async function readHead(db: Db | Trx, owner: Owner): Promise<ChainHead> {
  const head = await db
    .selectFrom('evidenceHeads')
    .select(['seq', 'hash', 'keptFrom'])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .executeTakeFirst()
  return head ?? { seq: 0, hash: GENESIS_HASH, keptFrom: 1 }
}

/** Selects the records of one chain. */
export function recordsOf(db: Db | Trx, owner: Owner): SelectQueryBuilder<Database, 'evidence', EvidenceRow> {
  return db
    .selectFrom('evidence')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
}

const PAGE = 500

/** Reads the records of a chain from `from` through `to`, in order, a page at a time. */
export async function* readChain(
  db: Db,
  owner: Owner,
  from: number,
  to: number,
): AsyncGenerator<readonly EvidenceRow[]> {
  for (let next = from; next <= to; ) {
    const rows = await recordsOf(db, owner)
      .where('seq', '>=', next)
      .where('seq', '<=', to)
      .orderBy('seq')
      .limit(PAGE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    next = last.seq + 1
  }
}

/** Returns the raw public key (hex) of a key id, or null if no record was signed with it. */
export async function findPublicKey(db: Db | Trx, keyId: string): Promise<string | null> {
  const row = await db
    .selectFrom('evidenceKeys')
    .select('publicKey')
    .where('keyId', '=', keyId)
    .executeTakeFirst()
  return row?.publicKey ?? null
}
