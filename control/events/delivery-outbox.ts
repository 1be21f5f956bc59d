import { newId } from '../../media/base/ids.js'
import type { Trx } from '../db/database.js'
import type { WebhookDeliveryRow } from '../db/tables/webhooks.js'
import { addJobs } from '../jobs/store.js'

/** The kind of job that sends deliveries; its lane is the endpoint, its payload the delivery's id. */
export const DELIVERY_JOB = 'webhook.deliver'

/** The event a delivery tells of. */
export interface OutboxEvent {
  readonly id: string
  readonly organizationId: string
  readonly environment: 'test' | 'live' | null
  readonly type: string
}

/**
 * Writes what is to be delivered of an event: one delivery, with its job, for every endpoint of the
 * organization that is enabled and wants the type. Only in the transaction that records the event,
 * so that neither exists without the other.
 */
export async function addDeliveries(trx: Trx, event: OutboxEvent, now: number): Promise<void> {
  const endpoints = await trx
    .selectFrom('webhookEndpoints')
    .select(['id', 'events'])
    .where('organizationId', '=', event.organizationId)
    .where('enabled', '=', 1)
    .where('deletedAt', 'is', null)
    .execute()
  const wanted = endpoints.filter(({ events }) => isSubscribed(events, event.type))
  await insertDeliveries(
    trx,
    wanted.map(({ id }) => newDelivery(event, id, now)),
    now,
  )
}

/** Whether the stored list of an endpoint names the type. */
export function isSubscribed(events: string, type: string): boolean {
  const types: unknown = JSON.parse(events)
  return Array.isArray(types) && types.includes(type)
}

/** A delivery that is due now and has not been tried. */
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
