import { newId } from '../../media/base/ids.js'
import type { EventRow } from '../db/calling-tables.js'
import type { Db, Trx } from '../db/open.js'
import { olderThan, type Page, type PageRequest, pageOf } from '../http/pagination.js'

/** The catalogue of the contract. */
export const EVENT_TYPES = [
  'call.initiated',
  'call.answered',
  'call.completed',
  'call.failed',
  'call.transfer_started',
  'call.transferred',
  'call.transfer_failed',
  'campaign.completed',
  'campaign.paused',
  'compliance.check.blocked',
  'wallet.balance.low',
  'number.renewal_due',
  'number.released',
  'number.suspended',
  'number.reactivated',
  'knowledge.build.completed',
  'knowledge.build.failed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]
export type SubjectType = 'call' | 'campaign' | 'check' | 'wallet' | 'number' | 'knowledge_base'

const DAY_MS = 86_400_000
/** Older events are gone for readers. */
export const EVENT_RETENTION_MS = 30 * DAY_MS

export interface NewEvent {
  readonly organizationId: string
  readonly environment: 'test' | 'live' | null
  readonly type: EventType
  readonly subject: { readonly type: SubjectType; readonly id: string }
}

/**
 * Records an event. Only inside the transaction of the change it tells of: this row is what webhook
 * deliveries are made from.
 */
export async function insertEvent(trx: Trx, event: NewEvent, now: number): Promise<void> {
  await trx
    .insertInto('events')
    .values({
      id: newId('evt', now),
      organizationId: event.organizationId,
      environment: event.environment,
      type: event.type,
      subjectType: event.subject.type,
      subjectId: event.subject.id,
      createdAt: now,
    })
    .execute()
}

/** Events of one environment and those that concern both, newest first, within retention. */
export async function listEvents(
  db: Db,
  owner: { readonly organizationId: string; readonly environment: 'test' | 'live' },
  filter: { readonly type: string | undefined },
  page: PageRequest,
  now: number,
): Promise<Page<EventRow>> {
  let query = visible(db, owner, now)
  if (filter.type !== undefined) query = query.where('type', '=', filter.type)
  const rows = await query
    .where(olderThan(page, 'createdAt', 'id'))
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    (row) => ({ key: row.createdAt, id: row.id }),
    (row) => row,
  )
}

export async function findEvent(
  db: Db,
  owner: { readonly organizationId: string; readonly environment: 'test' | 'live' },
  id: string,
  now: number,
): Promise<EventRow | null> {
  return (await visible(db, owner, now).where('id', '=', id).executeTakeFirst()) ?? null
}

function visible(
  db: Db,
  owner: { readonly organizationId: string; readonly environment: 'test' | 'live' },
  now: number,
) {
  return db
    .selectFrom('events')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where((column) =>
      column.or([column('environment', '=', owner.environment), column('environment', 'is', null)]),
    )
    .where('createdAt', '>', now - EVENT_RETENTION_MS)
}
