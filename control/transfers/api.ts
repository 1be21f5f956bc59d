import { z } from 'zod'
import type { TransferAsked } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse, unavailable } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { atCarrier } from '../calls/call-requests.js'
import { Recording, recordingLink } from '../calls/recording-link.js'
import { findCall } from '../calls/store.js'
import { Transfer, transferView } from '../calls/transfers/attempt-view.js'
import { findPart, listTransfers } from '../calls/transfers/store.js'

const TAG = 'Transfers'
/** Kind of the requests that another process of the service answers. */
export const TRANSFER_REQUEST = 'transfer'
const CallPath = z.object({ id: idParam('call') })
const AttemptPath = z.object({ id: idParam('call'), transferId: idParam('xfr') })
const noCall = () => refuse('not_found', 'The call does not exist.')
const notLive = () => refuse('call_not_live', 'No agent is on the call.')

const TransferResult = z.object({
  accepted: z.boolean(),
  refusal: z
    .string()
    .nullable()
    .meta({
      'x-known-values': [
        ...['destination_not_verified', 'destination_disabled', 'outside_hours', 'destination_not_allowed'],
        ...[
          'attempts_exhausted',
          'transfer_in_progress',
          'not_supported',
          'insufficient_funds',
          'call_ending',
        ],
      ],
    }),
  transfer: Transfer.nullable().meta({
    description: 'The attempt that began. After a refusal the latest attempt of the call, or null.',
  }),
})

const transferCall = operation({
  id: 'transferCall',
  method: 'post',
  path: '/v1/calls/:id/transfer',
  tag: TAG,
  summary: 'Request the transfer of a call to a person',
  description:
    'As if the agent decided it: the destination is verified, inside its hours and one of the agent. A call makes at most two attempts. A transfer that cannot start is answered with accepted false and a refusal. Without destinationId the default of the agent is called.',
  audience: 'key',
  scope: 'write',
  idempotent: 'accepted',
  params: CallPath,
  body: z.strictObject({
    destinationId: z.string().max(64).optional(),
    handoff: z.enum(['cold', 'warm']).optional(),
    note: z.string().max(500).optional(),
    reason: z.string().max(500).optional(),
  }),
  status: 200,
  result: TransferResult,
  fails: ['not_found', 'call_not_live', 'unprocessable_entity', 'internal_error'],
  run: async ({ params, body, actor, deps, idempotencyId: id }) => {
    const call = await findCall(deps.db, actor, params.id)
    if (call === null) return noCall()
    const latest = (await listTransfers(deps.db, actor, call.id)).at(-1)
    const hasAgent = call.agentId !== null || call.routingMode === 'byo_ws'
    const taken = latest?.row.status === 'bridged'
    if (call.status !== 'in_progress' || !hasAgent || taken) return notLive()
    const request: TransferAsked = {
      trigger: 'api',
      destination: body.destinationId ?? null,
      handoff: body.handoff ?? null,
      note: body.note ?? null,
      reason: body.reason ?? null,
    }
    const asked = { kind: TRANSFER_REQUEST, body: request, id }
    const answered = await atCarrier(deps, call, asked, () => deps.transfers.ask(call.id, request))
    if (answered === null) {
      const message =
        'Another process of the service carries the call and did not answer. Read the transfers of the call, then ask again.'
      return unavailable(message, { reason: 'other_process' })
    }
    const { answer } = answered
    if (answer.accepted) {
      return { accepted: true, refusal: null, transfer: transferView({ row: answer.attempt, parts: [] }) }
    }
    if (answer.refusal === null) {
      const message = 'The agent has no default destination. Set destinationId.'
      return refuse('unprocessable_entity', message, { path: 'destinationId' })
    }
    const after = (await listTransfers(deps.db, actor, call.id)).at(-1)
    return {
      accepted: false,
      refusal: answer.refusal,
      transfer: after === undefined ? null : transferView(after),
    }
  },
})

const listCallTransfers = listOperation({
  id: 'listCallTransfers',
  path: '/v1/calls/:id/transfers',
  tag: TAG,
  summary: 'List the transfer attempts of a call',
  description: 'In the order of the attempts; at most two.',
  audience: 'key',
  scope: 'read',
  paged: false,
  params: CallPath,
  result: Transfer,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const call = await findCall(deps.db, actor, params.id)
    if (call === null) return noCall()
    const attempts = await listTransfers(deps.db, actor, call.id)
    return { items: attempts.map(transferView), next: null }
  },
})

const readTransferRecording = operation({
  id: 'readTransferRecording',
  method: 'get',
  path: '/v1/calls/:id/transfers/:transferId/recording',
  tag: TAG,
  summary: 'Get the download URL of the recording of a person',
  description: 'The left channel is the caller, the right channel is the person.',
  audience: 'key',
  scope: 'read',
  params: AttemptPath,
  status: 200,
  result: Recording,
  fails: ['not_found'],
  run: async ({ params: { id, transferId }, actor, deps }) => {
    const part = await findPart(deps.db, actor, { callId: id, transferId, part: 'human' })
    return part === null ? noPart() : recordingLink(deps, part)
  },
})

const readReturnRecording = operation({
  id: 'readReturnRecording',
  method: 'get',
  path: '/v1/calls/:id/transfers/:transferId/return-recording',
  tag: TAG,
  summary: 'Get the download URL of the recording after an attempt',
  description: 'What the agent and the caller said after an attempt that failed.',
  audience: 'key',
  scope: 'read',
  params: AttemptPath,
  status: 200,
  result: Recording,
  fails: ['not_found'],
  run: async ({ params: { id, transferId }, actor, deps }) => {
    const part = await findPart(deps.db, actor, { callId: id, transferId, part: 'return' })
    return part === null ? noPart() : recordingLink(deps, part)
  },
})

function noPart() {
  return refuse('not_found', 'The transfer attempt does not exist or has no such recording.')
}

export const transferOperations = [
  transferCall,
  listCallTransfers,
  readTransferRecording,
  readReturnRecording,
]
