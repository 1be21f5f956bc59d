import { newId } from '../../media/base/ids.js'
import type { Trx } from '../db/database.js'
import { jsonRows } from '../db/json-rows.js'
import type { EventRow } from '../db/tables/calling.js'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../db/tables/webhooks.js'
import { addJobs } from '../jobs/store.js'

/** Kind of the delivery jobs. The lane is the endpoint, the payload is the id of the delivery. */
export const DELIVERY_JOB = 'webhook.deliver'

/** Event of a delivery. */
export interface OutboxEvent {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live' | null
  readonly type: string
}

/**
 * Inserts events of an organization, and one delivery with its job for each of them and every endpoint that is enabled and
 * subscribed to its type. Call it in the transaction of what the events report.
 */
export async function insertWithDeliveries(
  trx: Trx,
  organizationId: string,
  events: readonly EventRow[],
  now: number,
): Promise<void> {
  // Most organizations have no endpoint, and a statement more is a way to the database and back.
  const inserted = await trx
    .insertInto('events')
    .values([...events])
    .returning((eb) =>
      eb
        .selectFrom('webhookEndpoints')
        .select(jsonRows(trx, ['id', 'events']).as('rows'))
        .where('organizationId', '=', organizationId)
        .where('enabled', '=', 1)
        .where('deletedAt', 'is', null)
        .as('endpoints'),
    )
    .executeTakeFirst()
  const endpoints = JSON.parse(inserted?.endpoints ?? '[]') as readonly Pick<
    WebhookEndpointRow,
    'id' | 'events'
  >[]
  const inOrder = endpoints.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const deliveries = events.flatMap((event) =>
    inOrder
      .filter((endpoint) => isSubscribed(endpoint.events, event.type))
      .map(({ id }) => newDelivery(event, id, now)),
  )
  await insertDeliveries(trx, deliveries, now)
}

/** Returns true if the stored list of an endpoint contains the type. */
export function isSubscribed(events: string, type: string): boolean {
  const types: unknown = JSON.parse(events)
  return Array.isArray(types) && types.includes(type)
}

/** Returns a new delivery that is due now. */
export function newDelivery(event: OutboxEvent, endpointId: string, now: number): WebhookDeliveryRow {
  return {
    id: newId('whd', now),
    organizationId: event.organizationId,
    endpointId,
    eventId: event.id,
    type: event.type,
    environment: event.environment,
    status: 'pending',
    attempts: 0,
    lastStatus: null,
    lastError: null,
    lastDurationMs: null,
    lastAttemptAt: null,
    attemptLog: '[]',
    nextAttemptAt: now,
    body: null,
    latest: 1,
    createdAt: now,
    deliveredAt: null,
  }
}

export async function insertDeliveries(
  trx: Trx,
  deliveries: readonly WebhookDeliveryRow[],
  now: number,
): Promise<void> {
  if (deliveries.length === 0) return
  await trx
    .insertInto('webhookDeliveries')
    .values([...deliveries])
    .execute()
  await addJobs(
    trx,
    deliveries.map(({ id, endpointId }) => ({
      id: `${DELIVERY_JOB}:${id}`,
      kind: DELIVERY_JOB,
      lane: endpointId,
      dueAt: now,
      payload: id,
    })),
    now,
  )
}
