import { z } from 'zod'
import { audited } from '../../api/audited.js'
import { listOperation, operation } from '../../api/operation.js'
import { refuse } from '../../api/problem.js'
import { Instant, parseInstant } from '../../base/instant.js'
import { idParam, openEnum, Timestamp, timestamp } from '../../base/schemas.js'
import { INDIAN_NUMBER } from '../../compliance/bulk.js'
import { CALLBACK_STATUSES } from '../../db/tables/campaigns.js'
import { changeCallback, findCallback, listCallbacks, type PromisedCallback } from './store.js'

const Path = z.object({ id: idParam('cbk') })
const noCallback = () => refuse('not_found', 'The callback does not exist.')

const Callback = z.object({
  id: z.string(),
  callId: z.string().meta({ description: 'Call on which the callback was promised.' }),
  agentId: z.string(),
  numberId: z.string(),
  e164: z.string(),
  numberProven: z.boolean().meta({
    description:
      'False if the person called in: a caller can show the number of another person. True if the call was placed to the number.',
  }),
  at: Timestamp.meta({ description: 'Time of the next dial.' }),
  promisedAt: Timestamp.meta({ description: 'Time that the person was told.' }),
  note: z.string(),
  status: openEnum(...CALLBACK_STATUSES).meta({
    description: '`due`: the dial was moved, because the person could not be called at the time.',
  }),
  resultCallId: z.string().nullable(),
  reason: z.string().nullable().meta({ description: 'Why the callback was moved, refused or canceled.' }),
  createdAt: Timestamp,
})

function callbackView(row: PromisedCallback): z.input<typeof Callback> {
  const { id, callId, agentId, numberId, e164, note, status, resultCallId, reason } = row
  return {
    ...{ id, callId, agentId, numberId, e164, note, status, resultCallId, reason },
    numberProven: row.promisedOn === 'outbound',
    at: timestamp(row.dueAt),
    promisedAt: timestamp(row.promisedAt),
    createdAt: timestamp(row.createdAt),
  }
}

const listCallbacksOperation = listOperation({
  id: 'listCallbacks',
  path: '/v1/callbacks',
  tag: 'Callbacks',
  summary: 'List scheduled callbacks',
  description: 'Newest first. `dueAfter` is inclusive, `dueBefore` exclusive.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    status: z.enum(CALLBACK_STATUSES).optional(),
    e164: z.string().regex(INDIAN_NUMBER).optional(),
    agentId: z.string().max(40).optional(),
    dueAfter: Instant.optional(),
    dueBefore: Instant.optional(),
  }),
  result: Callback,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { status, e164, agentId } = query
    const time = (text: string | undefined) => parseInstant(text ?? '') ?? undefined
    const filter = { status, e164, agentId, dueAfter: time(query.dueAfter), dueBefore: time(query.dueBefore) }
    const { items, ...rest } = await listCallbacks(deps.db, actor, filter, page)
    return { ...rest, items: items.map(callbackView) }
  },
})

const readCallback = operation({
  id: 'readCallback',
  method: 'get',
  path: '/v1/callbacks/:id',
  tag: 'Callbacks',
  summary: 'Get a scheduled callback',
  description: 'Includes its state and, once dialled, the call.',
  audience: 'key',
  scope: 'read',
  params: Path,
  status: 200,
  result: Callback,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findCallback(deps.db, actor, params.id)
    return row === null ? noCallback() : callbackView(row)
  },
})

const cancelCallback = operation({
  id: 'cancelCallback',
  method: 'post',
  path: '/v1/callbacks/:id/cancel',
  tag: 'Callbacks',
  summary: 'Cancel a scheduled callback',
  description: 'Does nothing if the callback is canceled already.',
  audience: 'key',
  scope: 'write',
  params: Path,
  body: z.strictObject({}).optional(),
  status: 200,
  result: Callback,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }) => {
    const canceled = await audited({ deps, actor, requestId }, async (trx, record) => {
      const change = { status: 'canceled', reason: 'operator' } as const
      const row = await changeCallback(trx, actor, params.id, change)
      if (row !== null) await record('callback.canceled', row.id)
      return row
    })
    if (canceled !== null) return callbackView(canceled)
    const row = await findCallback(deps.db, actor, params.id)
    if (row === null) return noCallback()
    if (row.status === 'canceled') return callbackView(row)
    return refuse('conflict', `A callback that is ${row.status} cannot be canceled.`, { status: row.status })
  },
})

export const callbackOperations = [listCallbacksOperation, readCallback, cancelCallback]
