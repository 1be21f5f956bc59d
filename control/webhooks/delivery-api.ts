import { z } from 'zod'
import type { Actor } from '../api/actor.js'
import type { Deps } from '../api/deps.js'
import { listOperation, type Operation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { WebhookDeliveryRow } from '../db/tables/webhooks.js'
import { EVENT_TYPES } from '../events/event-types.js'
import { findEvent } from '../events/store.js'
import { readAttemptLog } from './attempt-log.js'
import { ATTEMPT_ERRORS } from './delivery-attempt.js'
import { findDelivery, listDeliveries, redeliver, redeliverLost } from './delivery-store.js'

const TAG = 'Webhooks'

const WebhookDelivery = z.object({
  id: z.string(),
  endpointId: z.string(),
  eventId: z.string(),
  type: openEnum(...EVENT_TYPES),
  environment: openEnum('test', 'live').nullable(),
  status: openEnum('pending', 'delivered', 'failed'),
  attempts: z.int(),
  lastStatus: z.int().nullable().meta({ description: 'HTTP status of the last response.' }),
  lastError: openEnum(
    ...ATTEMPT_ERRORS,
    ...(['subject_gone', 'endpoint_disabled', 'endpoint_deleted'] as const),
  ).nullable(),
  lastDurationMs: z.int().nullable(),
  attemptLog: z
    .array(
      z.object({
        attempt: z.int(),
        at: Timestamp,
        status: z.int().nullable(),
        error: openEnum(...ATTEMPT_ERRORS).nullable(),
        durationMs: z.int().nullable(),
      }),
    )
    .meta({ description: 'The attempts that have ended, oldest first.' }),
  nextAttemptAt: Timestamp.nullable(),
  createdAt: Timestamp,
  deliveredAt: Timestamp.nullable(),
})

function view(row: WebhookDeliveryRow): z.input<typeof WebhookDelivery> {
  return {
    id: row.id,
    endpointId: row.endpointId,
    eventId: row.eventId,
    type: row.type,
    environment: row.environment,
    status: row.status,
    attempts: row.attempts,
    lastStatus: row.lastStatus,
    lastError: row.lastError,
    lastDurationMs: row.lastDurationMs,
    attemptLog: readAttemptLog(row).map(({ at, ...attempt }) => ({ ...attempt, at: timestamp(at) })),
    nextAttemptAt: timestampOrNull(row.nextAttemptAt),
    createdAt: timestamp(row.createdAt),
    deliveredAt: timestampOrNull(row.deliveredAt),
  }
}

const listWebhookDeliveries = listOperation({
  id: 'listWebhookDeliveries',
  path: '/v1/integrations/webhooks/deliveries',
  tag: TAG,
  summary: 'List webhook deliveries',
  description: 'Deliveries of the last 30 days, newest first.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    endpointId: z.string().max(40).optional(),
    status: z.string().max(40).optional(),
    since: Instant.optional().meta({ description: 'Created at or after.' }),
  }),
  result: WebhookDelivery,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { since, ...equal } = query
    const filter = { ...equal, since: parseInstant(since ?? '') }
    const { items, ...rest } = await listDeliveries(deps.db, actor, filter, page)
    return { items: items.map(view), ...rest }
  },
})

const DeliveryPath = z.object({ deliveryId: idParam('whd') })

const readWebhookDelivery = operation({
  id: 'readWebhookDelivery',
  method: 'get',
  path: '/v1/integrations/webhooks/deliveries/:deliveryId',
  tag: TAG,
  summary: 'Get a webhook delivery',
  description: 'Includes every attempt with its result. A delivery has at most 14.',
  audience: 'key',
  scope: 'read',
  params: DeliveryPath,
  status: 200,
  result: WebhookDelivery,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findDelivery(deps.db, actor, params.deliveryId)
    return row === null ? noDelivery() : view(row)
  },
})

const redeliverWebhook = operation({
  id: 'redeliverWebhook',
  method: 'post',
  path: '/v1/integrations/webhooks/deliveries/:deliveryId/redeliver',
  tag: TAG,
  summary: 'Repeat a webhook delivery',
  description: 'Sends the event to the same endpoint again, as a new delivery.',
  audience: 'key',
  scope: 'admin',
  params: DeliveryPath,
  status: 202,
  result: WebhookDelivery,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps }) => {
    const row = await findDelivery(deps.db, actor, params.deliveryId)
    if (row === null) return noDelivery()
    const deliveries = await redeliverEventTo(deps, actor, row.eventId, row.endpointId)
    if (isRefusal(deliveries)) return deliveries
    const [delivery] = deliveries
    return delivery === undefined ? noDelivery() : view(delivery)
  },
})

const redeliverFailed = operation({
  id: 'redeliverFailed',
  method: 'post',
  path: '/v1/integrations/webhooks/:id/redeliver',
  tag: TAG,
  summary: 'Redeliver the failed events of an endpoint',
  description:
    'Sends the events again whose newest delivery to the endpoint has failed and was created at `since` or later. That includes deliveries that are never retried: those that got a redirect, or a 4xx other than 408 and 429. The oldest come first, at most 500. While `more` is true, a repeated request sends the next ones; none is sent twice.',
  audience: 'key',
  scope: 'admin',
  params: z.object({ id: idParam('whe') }),
  body: z.strictObject({ since: Instant }),
  status: 202,
  result: z.object({ sent: z.int(), more: z.boolean() }),
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps }) => {
    const now = deps.clock.wall()
    const since = parseInstant(body.since) ?? now
    const outcome = await redeliverLost(deps.db, actor, { endpointId: params.id, since, now })
    switch (outcome.kind) {
      case 'made':
        return { sent: outcome.sent, more: outcome.more }
      case 'disabled':
        return disabledEndpoint()
      case 'no-endpoint':
        return refuse('not_found', 'The webhook endpoint does not exist.')
      default:
        return outcome satisfies never
    }
  },
})

const redeliverEvent = operation({
  id: 'redeliverEvent',
  method: 'post',
  path: '/v1/events/:id/redeliver',
  tag: 'Events',
  summary: 'Redeliver an event',
  description:
    'Sends the event to the given endpoint, or to all enabled endpoints that are subscribed to it.',
  audience: 'key',
  scope: 'admin',
  params: z.object({ id: idParam('evt') }),
  body: z.strictObject({ endpointId: z.string().max(40).optional() }).optional(),
  status: 202,
  result: z.object({ deliveries: z.array(WebhookDelivery) }),
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps }) => {
    const deliveries = await redeliverEventTo(deps, actor, params.id, body?.endpointId ?? null)
    return isRefusal(deliveries) ? deliveries : { deliveries: deliveries.map(view) }
  },
})

async function redeliverEventTo(
  deps: Deps,
  actor: Actor,
  eventId: string,
  endpointId: string | null,
): Promise<readonly WebhookDeliveryRow[] | Refusal<'not_found' | 'conflict'>> {
  const now = deps.clock.wall()
  const event = await findEvent(deps.db, actor, eventId, now)
  if (event === null) return refuse('not_found', 'The event does not exist or is older than 30 days.')
  const outcome = await redeliver(deps.db, event, endpointId, now)
  switch (outcome.kind) {
    case 'made':
      return outcome.deliveries
    case 'disabled':
      return disabledEndpoint()
    case 'no-endpoint':
      return endpointId === null
        ? refuse('conflict', 'No enabled endpoint is subscribed to this event type.', { type: event.type })
        : refuse('not_found', 'The webhook endpoint does not exist.', {
            resource: 'webhook_endpoint',
            path: 'endpointId',
          })
    default:
      return outcome satisfies never
  }
}

function disabledEndpoint(): Refusal<'conflict'> {
  return refuse('conflict', 'The endpoint is disabled. Enable it first.', { enabled: false })
}

function noDelivery(): Refusal<'not_found'> {
  return refuse('not_found', 'The delivery does not exist.')
}

export const deliveryOperations: readonly Operation[] = [
  listWebhookDeliveries,
  readWebhookDelivery,
  redeliverWebhook,
  redeliverFailed,
  redeliverEvent,
]
