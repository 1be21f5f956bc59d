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

/** Returns a page of the deliveries of one environment and of events that concern both, newest first. */
export async function listDeliveries(
  db: Db,
  owner: Owner,
  page: PageRequest,
): Promise<Page<WebhookDeliveryRow>> {
  return newestFirst(visible(db, owner).selectAll(), page, {
    count: { db, query: visible(db, owner).select('id') },
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
