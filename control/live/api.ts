import { z } from 'zod'
import { eventStreamOperation } from '../api/operation.js'
import { CHANGE_KINDS } from './changes.js'

export const watchLive = eventStreamOperation({
  id: 'watchLive',
  path: '/v1/live',
  tag: 'Calls',
  summary: 'Watch changes as they happen',
  description:
    'Tells what changed in the environment, so that a page reads it again. Several changes of one thing may become one event. The first event is `hello`: `resumed` is false when earlier changes may be missing, and everything must be read again. A stream can be continued for 15 minutes. Changes of a transcript are sent for the call `callId` only. At most 6 streams are open for a user and 50 for an organization in one process.',
  audience: 'session',
  query: z.strictObject({ callId: z.string().max(40).optional() }),
  events: {
    hello: z.object({ resumed: z.boolean() }),
    changed: z.object({ kind: z.enum(CHANGE_KINDS), id: z.string() }),
  },
  fails: ['rate_limited'],
  run: ({ actor, query, lastEventId, deps }) => {
    const { organizationId, environment, userId } = actor
    return deps.live.watch({ organizationId, environment, userId, callId: query.callId ?? null, lastEventId })
  },
})
