import { z } from 'zod'
import type { EventRow } from '../db/calling-tables.js'
import { listOperation, operation } from '../http/operation.js'
import { refuse } from '../http/problem.js'
import { idParam, openEnum, Timestamp, timestamp } from '../http/schemas.js'
import { Envelope, envelopeOf } from './envelope.js'
import { EVENT_TYPES, findEvent, listEvents as pageOfEvents } from './store.js'

const Delivery = z
  .object({
    endpointId: z.string(),
    status: z.string(),
    attempts: z.int(),
    lastStatus: z.int().nullable(),
    deliveredAt: Timestamp.nullable(),
  })
  .nullable()
  .meta({ description: 'Latest delivery; null when no endpoint wanted the event.' })

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
  summary: 'List the events of the last 30 days, newest first.',
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
  summary: 'Read an event with its payload, rendered from the current state.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('evt') }),
  status: 200,
  result: z.object({ ...eventShape, payload: Envelope }),
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findEvent(deps.db, actor, params.id, deps.clock.wall())
    if (row === null) return refuse('not_found', 'There is no such event, or it is older than 30 days.')
    const payload = await envelopeOf(deps, row)
    if (payload === null) return refuse('not_found', 'What the event told of is gone.')
    return { ...eventView(row), payload }
  },
})

function eventView(row: EventRow) {
  return {
    id: row.id,
    type: row.type,
    environment: row.environment,
    subjectType: row.subjectType,
    subjectId: row.subjectId,
    createdAt: timestamp(row.createdAt),
    delivery: null,
  }
}
