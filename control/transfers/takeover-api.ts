import { z } from 'zod'
import { newId } from '../../media/base/ids.js'
import type { SessionActor } from '../api/actor.js'
import { audited } from '../api/audited.js'
import type { Deps, TakeoverAnswer, TakeoverAsked } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse, unavailable } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import { idParam, openEnum } from '../base/schemas.js'
import { atCarrier, type CallRequestHandlers } from '../calls/call-requests.js'
import { liveCall } from '../calls/live-call-api.js'
import { whoTakesOver } from '../calls/monitors/store.js'
import { refuseMonitoring } from '../organization/monitoring.js'

const TAG = 'Calls'
const TAKE_OVER = 'take_over'
const GIVE_BACK = 'give_back'
const MESSAGE_MAX = 400
const CallPath = z.object({ id: idParam('call') })

const startTakeover = operation({
  id: 'startTakeover',
  method: 'post',
  path: '/v1/calls/:id/takeover',
  tag: TAG,
  summary: 'Start the takeover of a running call from its agent',
  description:
    'Calls a verified transfer destination. Who answers takes the call with the key 1; until then the agent talks on. Then the caller hears the line before a transfer, and the agent leaves. The person may give the caller back, and a person who hangs up gives the caller back, too. For owners and admins, and for developers if the organization allows it (`monitoring`). The time costs as with a person. `GET /v1/calls/{id}/monitors` shows the steps.',
  audience: 'session',
  params: CallPath,
  body: z.strictObject({
    destinationId: z.string().max(64).meta({ description: 'Id, key or number of the destination.' }),
  }),
  status: 200,
  result: z.object({ id: z.string(), mode: openEnum('takeover') }),
  fails: ['not_found', 'call_not_live', 'conflict', 'unprocessable_entity', 'internal_error'],
  run: async (input) => {
    const { params, body, actor, deps } = input
    const refused = await refuseMonitoring(deps.db, actor, 'listen_and_takeover')
    if (refused !== null) return refused
    const call = await liveCall(deps, actor, params.id)
    if (isRefusal(call)) return call
    const request: TakeoverAsked = {
      id: newId('mon', deps.clock.wall()),
      userId: actor.userId,
      destination: body.destinationId,
    }
    const asked = { kind: TAKE_OVER, body: request, id: null }
    const answered = await atCarrier(deps, call, asked, () => deps.transfers.takeOver(call.id, request))
    if (answered === null) return noAnswer()
    const refusal = refusalOf(answered.answer)
    if (refusal !== null) return refusal
    await audited(input, (_trx, record) =>
      record('call.takeover_requested', call.id, {
        after: { monitorId: request.id, destinationId: body.destinationId },
      }),
    )
    return { id: request.id, mode: 'takeover' }
  },
})

const releaseTakeover = operation({
  id: 'releaseTakeover',
  method: 'post',
  path: '/v1/calls/:id/release',
  tag: TAG,
  summary: 'Release a call that was taken over to its agent',
  description:
    'The agent is told how long the person had the caller, the last words of both as far as they were understood, and the message. Also ends a takeover whose person has not answered yet. Who took the call over may always release it; the takeover of another member is released by owners and admins only.',
  audience: 'session',
  params: CallPath,
  body: z.strictObject({ message: z.string().trim().min(1).max(MESSAGE_MAX).optional() }),
  status: 200,
  result: z.object({ released: z.literal(true) }),
  fails: ['not_found', 'call_not_live', 'conflict', 'internal_error'],
  run: async (input) => {
    const { params, actor, deps } = input
    const refused = await refuseRelease(deps, actor, params.id)
    if (refused !== null) return refused
    const call = await liveCall(deps, actor, params.id)
    if (isRefusal(call)) return call
    const message = input.body.message ?? null
    const asked = { kind: GIVE_BACK, body: message, id: null }
    const answered = await atCarrier(deps, call, asked, async () => deps.calls.giveBack(call.id, message))
    if (answered === null) return noAnswer()
    if (!answered.answer) return refuse('conflict', 'Nobody has taken the call over.')
    await audited(input, (_trx, record) => record('call.release_requested', call.id))
    return { released: true } as const
  },
})

/** Refuses a user who may not end this takeover. The member who has the caller may always give the caller back. */
async function refuseRelease(
  { db }: Deps,
  actor: SessionActor,
  callId: string,
): Promise<Refusal<'forbidden'> | null> {
  const by = await whoTakesOver(db, { callId, organizationId: actor.organizationId })
  if (by === actor.userId) return null
  const refused = await refuseMonitoring(db, actor, 'listen_and_takeover')
  if (refused !== null || by === null || ADMIN_ROLES.includes(actor.role)) return refused
  return refuse(
    'forbidden',
    'Another member took the call over. That member, an owner or an admin may release it.',
  )
}

export const takeoverOperations = [startTakeover, releaseTakeover]

/** Carries out what other processes ask about calls of this one. */
export function takeoverRequests({
  transfers,
  calls,
}: Pick<Deps, 'transfers' | 'calls'>): CallRequestHandlers {
  return {
    [TAKE_OVER]: (callId, body) => transfers.takeOver(callId, body as TakeoverAsked),
    [GIVE_BACK]: async (callId, body) => calls.giveBack(callId, body as string | null),
  }
}

type Refused = Extract<TakeoverAnswer, { accepted: false }>['refusal']

function refusalOf(
  answer: TakeoverAnswer,
): Refusal<'call_not_live' | 'conflict' | 'unprocessable_entity'> | null {
  if (answer.accepted) return null
  const { refusal } = answer
  const conflict = (message: string) => refuse('conflict', message, { reason: refusal })
  const destination = (message: string) =>
    refuse('unprocessable_entity', message, { path: 'destinationId', reason: refusal })
  const refusals: Readonly<Record<Refused, () => ReturnType<typeof refusalOf>>> = {
    call_ending: () => refuse('call_not_live', 'The call is not in progress.'),
    transfer_in_progress: () => conflict('The call is being transferred to a person, or a person has it.'),
    taken_over: () => conflict('Someone is already taking over the call.'),
    not_supported: () => conflict('The call has no agent that could be taken over from.'),
    destination_not_allowed: () => destination('The destination does not exist.'),
    destination_disabled: () => destination('The destination is disabled.'),
    destination_not_verified: () => destination('The destination is not verified in this environment.'),
    outside_hours: () => destination('The destination takes no calls at this time.'),
  }
  return refusals[refusal]()
}

function noAnswer() {
  const message = 'Another process of the service carries the call and did not answer. Ask again.'
  return unavailable(message, { reason: 'other_process' })
}
