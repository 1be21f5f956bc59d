import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { EngineError } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import { type Page, type PageRequest, pageOf } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import { sweep } from '../db/sweep.js'
import type { EventRow } from '../db/tables/calling.js'
import type { DeliveryStatus, WebhookDeliveryRow } from '../db/tables/webhooks.js'
import { type ChangeKind, recordChange } from '../live/changes.js'
import { insertWithDeliveries } from './delivery-outbox.js'
import { EVENTS, type NewEvent, SUBJECTS, type SubjectName } from './event-types.js'

const DAY_MS = 86_400_000
/** Older events are not returned. */
export const EVENT_RETENTION_MS = 30 * DAY_MS

/**
 * Inserts an event and its webhook deliveries. Call it only in the transaction of the change that the event
 * reports.
 */
export function insertEvent(trx: Trx, event: NewEvent, now: number): Promise<void> {
  return insertEvents(trx, [event], now)
}

/** Inserts events of one subject like `insertEvent`, in the order in which they happened. */
export async function insertEvents(trx: Trx, events: readonly NewEvent[], now: number): Promise<void> {
  const rows = events.map((event) => eventRow(event, now))
  const [first] = events
  const [row] = rows
  if (first === undefined || row === undefined) return
  await insertWithDeliveries(trx, row.organizationId, rows, now)
  const kind = CHANGED[subjectOf(first).type]
  const { organizationId, environment, subjectId } = row
  if (kind !== null) await recordChange(trx, { organizationId, environment, kind, subjectId }, now)
}

function subjectOf({ type }: NewEvent): (typeof SUBJECTS)[SubjectName] {
  const [first]: readonly SubjectName[] = EVENTS[type].subjects
  if (first === undefined) throw new EngineError('internal', `the event ${type} has no subject`)
  return SUBJECTS[first]
}

function eventRow(event: NewEvent, now: number): EventRow {
  const { organizationId, environment, type } = event
  const [first, second]: readonly SubjectName[] = EVENTS[type].subjects
  const ids: Readonly<Partial<Record<SubjectName, string>>> = event.subjects
  const subjectId = first === undefined ? undefined : ids[first]
  if (subjectId === undefined) throw new EngineError('internal', `the event ${type} has no subject`)
  return {
    id: newId('evt', now),
    organizationId,
    environment,
    type,
    subjectType: subjectOf(event).type,
    subjectId,
    secondSubjectId: second === undefined ? null : (ids[second] ?? null),
    createdAt: now,
  }
}

/** Data that dashboards read again after an event, by the type of its subject. */
const CHANGED = {
  call: 'call',
  transfer: null,
  campaign: 'campaign',
  check: 'check',
  wallet: 'wallet',
  number: 'number',
  knowledge_base: 'knowledge_base',
  build: null,
  evidence_head: null,
} as const satisfies Readonly<Record<(typeof SUBJECTS)[SubjectName]['type'], ChangeKind | null>>

interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/** Delivery of an event, as listed with the event. */
export interface EventDelivery {
  readonly endpointId: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly lastStatus: number | null
  readonly deliveredAt: number | null
}

/** Item of the event log: an event and the latest delivery to one subscribed endpoint, if any. */
export interface EventWithDelivery {
  readonly event: EventRow
  readonly delivery: EventDelivery | null
}

/**
 * Returns the events of one environment and those that concern both, newest first, within the retention.
 * One item per event and endpoint.
 */
export async function listEvents(
  db: Db,
  owner: Owner,
  filter: { readonly type: string | undefined },
  page: PageRequest,
  now: number,
): Promise<Page<EventWithDelivery>> {
  const [eventId = '', endpointId = ''] = (page.after?.id ?? '').split(' ')
  const rows = await withDelivery(db, owner, now)
    .where((column) =>
      filter.type === undefined ? column.lit(true) : column('events.type', '=', filter.type),
    )
    .where(
      page.after === null
        ? sql<SqlBool>`1 = 1`
        : // Redundant condition that can use an index.
          sql<SqlBool>`events."createdAt" <= ${page.after.key} and (events."createdAt", events.id,
            coalesce(delivery."endpointId", '')) < (${page.after.key}, ${eventId}, ${endpointId})`,
    )
    .orderBy('events.createdAt', 'desc')
    .orderBy('events.id', 'desc')
    .orderBy(sql`coalesce(delivery."endpointId", '')`, 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    (row) => ({ key: row.createdAt, id: `${row.id} ${row.endpointId ?? ''}` }),
    withParts,
  )
}

/**
 * Returns an event with its latest delivery to any endpoint, or null if there is none within the retention.
 */
export async function findEventWithDelivery(
  db: Db,
  owner: Owner,
  id: string,
  now: number,
): Promise<EventWithDelivery | null> {
  const row = await withDelivery(db, owner, now)
    .where('events.id', '=', id)
    .orderBy('delivery.createdAt', 'desc')
    .orderBy('delivery.id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : withParts(row)
}

export async function findEvent(
  db: Db | Trx,
  owner: Owner,
  id: string,
  now: number,
): Promise<EventRow | null> {
  const organization = unindexed('events.organizationId')
  const row = await visible(db, owner, now, organization)
    .selectAll('events')
    .where('events.id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the event of a delivery, or null if it was removed after the retention. */
export async function findEventOfDelivery(
  db: Db,
  delivery: Pick<WebhookDeliveryRow, 'organizationId' | 'eventId'>,
): Promise<EventRow | null> {
  const row = await db
    .selectFrom('events')
    .selectAll()
    .where('id', '=', delivery.eventId)
    .where(unindexed('organizationId'), '=', delivery.organizationId)
    .executeTakeFirst()
  return row ?? null
}

function withDelivery(db: Db, owner: Owner, now: number) {
  return visible(db, owner, now)
    .leftJoin('webhookDeliveries as delivery', (join) =>
      join
        .onRef('delivery.eventId', '=', 'events.id')
        .onRef('delivery.organizationId', '=', 'events.organizationId')
        .on('delivery.latest', '=', 1),
    )
    .selectAll('events')
    .select([
      'delivery.endpointId',
      'delivery.status',
      'delivery.attempts',
      'delivery.lastStatus',
      'delivery.deliveredAt',
    ])
}

function withParts(
  row: EventRow & { readonly [name in keyof EventDelivery]: EventDelivery[name] | null },
): EventWithDelivery {
  const { endpointId, status, attempts, lastStatus, deliveredAt, ...event } = row
  const delivery =
    endpointId === null || status === null
      ? null
      : { endpointId, status, attempts: attempts ?? 0, lastStatus, deliveredAt }
  return { event, delivery }
}

function visible(
  db: Db | Trx,
  owner: Owner,
  now: number,
  organization: RawBuilder<string> = sql.ref('events.organizationId'),
) {
  return db
    .selectFrom('events')
    .where(organization, '=', owner.organizationId)
    .where((column) =>
      column.or([
        column('events.environment', '=', owner.environment),
        column('events.environment', 'is', null),
      ]),
    )
    .where('events.createdAt', '>', now - EVENT_RETENTION_MS)
}

/** Rows removed by one statement. */
const SWEEP_BATCH = 500

/** Deletes events after the retention. Returns true if there may be more. */
export function sweepEvents(db: Db, now: number): Promise<boolean> {
  return sweep(db, {
    table: 'events',
    key: 'id',
    where: sql<boolean>`"createdAt" <= ${now - EVENT_RETENTION_MS}`,
    batch: SWEEP_BATCH,
  })
}
