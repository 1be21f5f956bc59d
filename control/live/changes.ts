import { PostgresAdapter, type SqlBool, sql } from 'kysely'
import { builtOnce, insertedOnce } from '../db/built-once.js'
import type { Db, Trx } from '../db/database.js'
import { sweep } from '../db/sweep.js'
import type { RecipientRow } from '../db/tables/campaigns.js'

/** Time for which a stream can be continued (ms). */
export const RESUME_MS = 900_000

/** Kinds of changes. `transcript` has the id of its call. */
export const CHANGE_KINDS = [
  'call',
  'transcript',
  'campaign',
  'check',
  'wallet',
  'number',
  'knowledge_base',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export interface Change {
  readonly organizationId: string
  /** Null concerns both environments. */
  readonly environment: 'test' | 'live' | null
  readonly kind: ChangeKind
  readonly subjectId: string
}

/** Place in the order of commits. */
export interface Position {
  readonly transaction: number
  readonly seq: number
  /** Unix ms. */
  readonly at: number
}

export interface StoredChange extends Omit<Change, 'kind'>, Position {
  readonly kind: string
}

/** Records a change. Call it in the transaction of the change. */
export async function recordChange(trx: Trx, change: Change, now: number): Promise<void> {
  const { organizationId, environment, kind, subjectId } = change
  await insertRows(trx, [{ organizationId, environment, kind, subjectId, at: now }])
}

const insertRows = insertedOnce('liveChanges')

/** Records a change of the state or the counts of a campaign that no change of one of its calls tells. */
export function recordCampaignChange(
  trx: Trx,
  { organizationId, environment }: Pick<RecipientRow, 'organizationId' | 'environment'>,
  campaignId: string,
  now: number,
): Promise<void> {
  return recordChange(trx, { organizationId, environment, kind: 'campaign', subjectId: campaignId }, now)
}

/** Records a change of a call whose owner is not at hand. */
export async function recordCallChange(
  trx: Trx,
  callId: string,
  kind: 'call' | 'transcript',
  now: number,
): Promise<void> {
  await insertOfCall(trx, { callId, kind, now })
}

const insertOfCall = builtOnce<
  { readonly callId: string; readonly kind: ChangeKind; readonly now: number },
  unknown
>((db, place) =>
  db
    .insertInto('liveChanges')
    .columns(['organizationId', 'environment', 'kind', 'subjectId', 'at'])
    .expression((query) =>
      query
        .selectFrom('calls')
        .select((column) => [
          'organizationId',
          'environment',
          column.val(place('kind')).as('kind'),
          'id as subjectId',
          column.val(place('now')).as('at'),
        ])
        .where('id', '=', place('callId')),
    ),
)

/**
 * Returns a position before all transactions that have not ended, and after all changes that ended earlier than
 * the oldest of them.
 */
export async function readHead(db: Db, now: number): Promise<Position> {
  if (isPostgres(db)) {
    const { rows } = await sql<{ transaction: number }>`
      select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as transaction`.execute(db)
    return { transaction: rows[0]?.transaction ?? 0, seq: 0, at: now }
  }
  const last = await db
    .selectFrom('liveChanges')
    .select((column) => column.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return { transaction: 0, seq: Number(last?.seq ?? 0), at: now }
}

/**
 * Returns the changes after a position in the order of commits. On PostgreSQL it leaves out what a transaction
 * that has not ended could still precede, so that no change is missed.
 */
export function readChanges(
  db: Db,
  after: Position,
  options: {
    readonly limit: number
    readonly until?: Position
    readonly organizationId?: string
  },
): Promise<StoredChange[]> {
  const { limit, until, organizationId } = options
  let query = db
    .selectFrom('liveChanges')
    .selectAll()
    .where(sql<SqlBool>`("transaction", seq) > (${after.transaction}, ${after.seq})`)
  if (isPostgres(db)) {
    query = query.where(sql<SqlBool>`"transaction" < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`)
  }
  if (until !== undefined) {
    query = query.where(sql<SqlBool>`("transaction", seq) <= (${until.transaction}, ${until.seq})`)
  }
  if (organizationId !== undefined) query = query.where('organizationId', '=', organizationId)
  return query.orderBy('transaction').orderBy('seq').limit(limit).execute()
}

export function isAfter(position: Position, other: Position): boolean {
  return (
    position.transaction > other.transaction ||
    (position.transaction === other.transaction && position.seq > other.seq)
  )
}

/** Returns the id of an event at a position. */
export function positionText({ transaction, seq, at }: Position): string {
  return `${transaction}-${seq}-${at}`
}

/** Reads the id of an event. Returns null for any other text. */
export function parsePosition(text: string): Position | null {
  const [, transaction, seq, at] = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  return at === undefined ? null : { transaction: Number(transaction), seq: Number(seq), at: Number(at) }
}

const SWEEP_BATCH = 1000

/** Deletes changes that no stream can continue from. Returns true if there may be more. */
export function sweepLiveChanges(db: Db, now: number): Promise<boolean> {
  return sweep(db, {
    table: 'liveChanges',
    key: 'seq',
    where: sql<boolean>`at <= ${now - RESUME_MS}`,
    batch: SWEEP_BATCH,
  })
}

function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
