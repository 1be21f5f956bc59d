import { type RawBuilder, sql } from 'kysely'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import { retryTransaction } from '../db/retry-transaction.js'
import { sweep } from '../db/sweep.js'
import type { EventRow } from '../db/tables/calling.js'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../db/tables/webhooks.js'
import { insertDeliveries, isSubscribed, newDelivery } from '../events/delivery-outbox.js'
import { EVENT_RETENTION_MS } from '../events/store.js'

interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

export interface DeliveryFilter {
  readonly endpointId?: string | undefined
  readonly status?: string | undefined
  /** Unix ms: created at or after. */
  readonly since: number | null
}

/** Returns a page of the deliveries of one environment and of events that concern both, newest first. */
export async function listDeliveries(
  db: Db,
  owner: Owner,
  { endpointId, status, since }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<WebhookDeliveryRow>> {
  let query = visible(db, owner)
  if (endpointId !== undefined) query = query.where(unindexed('endpointId'), '=', endpointId)
  if (status !== undefined) query = query.where(unindexed('status'), '=', status)
  if (since !== null) query = query.where('createdAt', '>=', since)
  return newestFirst(query.selectAll(), page, { count: { db, query: query.select('id') } })
}

/** Selects failed deliveries that are the newest of their event and endpoint. They are not retried. */
function lost(db: Db | Trx, owner: Owner, since: number) {
  return (
    db
      .selectFrom('webhookDeliveries')
      .where('webhookDeliveries.organizationId', '=', owner.organizationId)
      .where((column) =>
        column.or([
          column('webhookDeliveries.environment', '=', owner.environment),
          column('webhookDeliveries.environment', 'is', null),
        ]),
      )
      // The values are in the text, so that both databases use the partial index.
      .where('webhookDeliveries.status', '=', sql.lit('failed'))
      .where('webhookDeliveries.latest', '=', sql.lit(1))
      .where('webhookDeliveries.createdAt', '>=', since)
  )
}

/**
 * Counts the events that endpoints of an owner did not get, by deliveries since a time (Unix ms). Returns at most
 * `most` endpoints.
 */
export async function countLost(
  db: Db,
  owner: Owner,
  since: number,
  most: number,
): Promise<readonly { readonly id: string; readonly url: string; readonly events: number }[]> {
  return lost(db, owner, since)
    .innerJoin('webhookEndpoints', 'webhookEndpoints.id', 'webhookDeliveries.endpointId')
    .where('webhookEndpoints.deletedAt', 'is', null)
    .select(['webhookEndpoints.id', 'webhookEndpoints.url', sql<number>`count(*)`.as('events')])
    .groupBy(['webhookEndpoints.id', 'webhookEndpoints.url'])
    .orderBy('webhookEndpoints.id')
    .limit(most)
    .execute()
}

/** Maximum number of events that one request sends again. */
const RESEND_MOST = 500

export type Resending =
  | { readonly kind: 'made'; readonly sent: number; readonly more: boolean }
  | { readonly kind: 'no-endpoint' | 'disabled' }

/**
 * Delivers lost events of an endpoint again, by deliveries since a time (Unix ms): the oldest first, at most 500. A
 * repeated request sends the next ones, and none twice.
 */
export async function redeliverLost(
  db: Db,
  owner: Owner,
  { endpointId, since, now }: { readonly endpointId: string; readonly since: number; readonly now: number },
): Promise<Resending> {
  return retryTransaction(db, async (trx) => {
    const [endpoint] = await lockEndpoints(trx, owner.organizationId, endpointId)
    if (endpoint === undefined) return { kind: 'no-endpoint' }
    if (endpoint.enabled === 0) return { kind: 'disabled' }
    const events = await lost(trx, owner, since)
      .innerJoin('events', 'events.id', 'webhookDeliveries.eventId')
      .where('webhookDeliveries.endpointId', '=', endpointId)
      .select(['events.id', 'events.organizationId', 'events.environment', 'events.type'])
      .orderBy('webhookDeliveries.createdAt')
      .orderBy('webhookDeliveries.id')
      .limit(RESEND_MOST + 1)
      .execute()
    const chosen = events.slice(0, RESEND_MOST)
    if (chosen.length > 0) {
      await trx
        .updateTable('webhookDeliveries')
        .set({ latest: 0 })
        .where('endpointId', '=', endpointId)
        .where('latest', '=', 1)
        .where(
          'eventId',
          'in',
          chosen.map(({ id }) => id),
        )
        .execute()
      await insertDeliveries(
        trx,
        chosen.map((event) => newDelivery(event, endpointId, now)),
        now,
      )
    }
    return { kind: 'made', sent: chosen.length, more: events.length > chosen.length }
  })
}

export async function findDelivery(db: Db, owner: Owner, id: string): Promise<WebhookDeliveryRow | null> {
  return (
    (await visible(db, owner, unindexed('organizationId'))
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()) ?? null
  )
}

function visible(db: Db, owner: Owner, organization: RawBuilder<string> = sql.ref('organizationId')) {
  return db
    .selectFrom('webhookDeliveries')
    .where(organization, '=', owner.organizationId)
    .where((column) =>
      column.or([column('environment', '=', owner.environment), column('environment', 'is', null)]),
    )
}

export type Redelivery =
  | { readonly kind: 'made'; readonly deliveries: readonly WebhookDeliveryRow[] }
  | { readonly kind: 'no-endpoint' }
  | { readonly kind: 'disabled' }

/**
 * Delivers an event again: to the given endpoint regardless of its subscriptions, or to all enabled and
 * subscribed endpoints. Attempts start at 1, and the payload is rendered again.
 */
export async function redeliver(
  db: Db,
  event: EventRow,
  endpointId: string | null,
  now: number,
): Promise<Redelivery> {
  return retryTransaction(db, async (trx) => {
    const endpoints = await lockEndpoints(trx, event.organizationId, endpointId)
    if (endpointId !== null && endpoints.length === 0) return { kind: 'no-endpoint' }
    const enabled = endpoints.filter((endpoint) => endpoint.enabled === 1)
    if (endpointId !== null && enabled.length === 0) return { kind: 'disabled' }
    const wanted =
      endpointId === null ? enabled.filter(({ events }) => isSubscribed(events, event.type)) : enabled
    if (wanted.length === 0) return { kind: 'no-endpoint' }
    const deliveries = wanted.map(({ id }) => newDelivery(event, id, now))
    await trx
      .updateTable('webhookDeliveries')
      .set({ latest: 0 })
      .where('eventId', '=', event.id)
      .where('latest', '=', 1)
      .where(
        'endpointId',
        'in',
        wanted.map(({ id }) => id),
      )
      .execute()
    await insertDeliveries(trx, deliveries, now)
    return { kind: 'made', deliveries }
  })
}

/** Locks the endpoints, so that concurrent redeliveries of an event run one after the other. */
async function lockEndpoints(
  trx: Trx,
  organizationId: string,
  endpointId: string | null,
): Promise<readonly WebhookEndpointRow[]> {
  let query = trx
    .updateTable('webhookEndpoints')
    .set((column) => ({ id: column.ref('id') }))
    .where('organizationId', '=', organizationId)
    .where('deletedAt', 'is', null)
  if (endpointId !== null) query = query.where('id', '=', endpointId)
  return query.returningAll().execute()
}

/** Rows removed by one statement. */
const SWEEP_BATCH = 500

/**
 * Removes deliveries after the retention of events, except pending ones. Returns true if there may be more.
 */
export function sweepDeliveries(db: Db, now: number): Promise<boolean> {
  return sweep(db, {
    table: 'webhookDeliveries',
    key: 'id',
    where: sql<boolean>`"createdAt" <= ${now - EVENT_RETENTION_MS} and "status" <> 'pending'`,
    batch: SWEEP_BATCH,
  })
}
