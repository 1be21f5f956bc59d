import { z } from 'zod'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { EVENT_TYPES } from '../events/event-types.js'
import { type EventWithDelivery, findEventWithDelivery, listEvents as pageOfEvents } from '../events/store.js'
import { buildEnvelope, Envelope } from './envelope.js'

const Delivery = z
  .object({
    endpointId: z.string(),
    status: openEnum('pending', 'delivered', 'failed'),
    attempts: z.int(),
    lastStatus: z.int().nullable(),
    deliveredAt: Timestamp.nullable(),
  })
  .nullable()
  .meta({ description: 'Latest delivery to this endpoint. Null if no endpoint is subscribed to the event.' })

const eventShape = {
  id: z.string(),
  type: openEnum(...EVENT_TYPES),
  environment: z.enum(['test', 'live']).nullable(),
  subjectType: openEnum('call', 'campaign', 'check', 'wallet', 'number', 'knowledge_base'),
  subjectId: z.string(),
  createdAt: Timestamp,
  delivery: Delivery,
}

export const listEvents = listOperation({
  id: 'listEvents',
  path: '/v1/events',
  tag: 'Events',
  summary: 'List events',
  description: 'Events of the last 30 days, newest first. One item per event and webhook endpoint.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({ type: z.string().max(60).optional() }),
  result: z.object(eventShape),
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { items, next } = await pageOfEvents(deps.db, actor, { type: query.type }, page, deps.clock.wall())
    return { items: items.map(eventView), next }
  },
})

export const readEvent = operation({
  id: 'readEvent',
  method: 'get',
  path: '/v1/events/:id',
  tag: 'Events',
  summary: 'Get an event',
  description: 'The payload shows the current state of the subject.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('evt') }),
  status: 200,
  result: z.object({ ...eventShape, payload: Envelope }),
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const found = await findEventWithDelivery(deps.db, actor, params.id, deps.clock.wall())
    if (found === null) return refuse('not_found', 'The event does not exist or is older than 30 days.')
    const payload = await buildEnvelope(deps, found.event)
    if (payload === null) return refuse('not_found', 'The subject of the event no longer exists.')
    return { ...eventView(found), payload }
  },
})

function eventView({ event, delivery }: EventWithDelivery) {
  return {
    id: event.id,
    type: event.type,
    environment: event.environment,
    subjectType: event.subjectType,
    subjectId: event.subjectId,
    createdAt: timestamp(event.createdAt),
    delivery: delivery === null ? null : { ...delivery, deliveredAt: timestampOrNull(delivery.deliveredAt) },
  }
}
