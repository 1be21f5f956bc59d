import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import type { AdmissionDecision, SandboxInboundCall } from '../../signalling/call/ports.js'
import { PERSONA_NAMES } from '../../signalling/sandbox/personas.js'
import type { Deps } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { isRefusal, refuse, unavailable } from '../api/problem.js'
import { E164 } from '../base/schemas.js'
import { namedNumber } from '../numbers/named-number.js'

const DEFAULT_PERSONA = 'polite'
/** Time within which the INVITE of the simulated carrier must reach the service (ms). */
const ARRIVAL_MS = 10_000

export const callInToSandbox = operation({
  id: 'createSandboxInboundCall',
  method: 'post',
  path: '/v1/sandbox/inbound-calls',
  tag: 'Sandbox',
  summary: 'Place a simulated inbound call',
  description:
    'The simulated carrier calls one of your test numbers. `callId` is the call as `GET /v1/calls/{id}` returns it. A call that the service refuses, for example because the number has no published agent, results in 422.',
  audience: 'key',
  scope: 'write',
  environment: 'test',
  body: z.strictObject({
    numberId: z.string().max(64),
    from: E164,
    persona: z
      .enum(PERSONA_NAMES)
      .optional()
      .meta({ description: 'Simulated caller. The default is polite.' }),
  }),
  status: 202,
  result: z.object({
    numberId: z.string(),
    from: z.string(),
    to: z.string(),
    persona: z.string(),
    callId: z.string(),
  }),
  fails: [
    'not_found',
    'environment_mismatch',
    'unprocessable_entity',
    'provider_unavailable',
    'internal_error',
  ],
  run: async ({ body, actor, deps }) => {
    const number = await namedNumber(deps.db, actor, body.numberId)
    if (isRefusal(number)) return number
    if (deps.calls.draining)
      return unavailable('The service is shutting down and accepts no new calls.', { reason: 'draining' })
    if (!deps.calls.connected)
      return unavailable('The SIP server is not connected. Retry in a moment.', { reason: 'no_sip_server' })
    const persona = body.persona ?? DEFAULT_PERSONA
    const decision = await callIn(deps, { from: body.from, to: number.e164, persona })
    if (decision === null) {
      return refuse(
        'provider_unavailable',
        'The simulated carrier cannot place the call now. Retry in a moment.',
        { provider: 'sandbox' },
      )
    }
    const arrived = { numberId: number.id, from: body.from, to: number.e164, persona }
    if (decision.admit) return { ...arrived, callId: decision.callId }
    if (decision.callId !== undefined) return { ...arrived, callId: decision.callId }
    const { sip, reason } = decision
    return refuse('unprocessable_entity', `The service refuses the call: ${reason}.`, {
      path: 'numberId',
      sipStatus: sip,
    })
  },
})

/**
 * Lets the simulated carrier call. Returns the decision of the service on the call, or null if the call did not
 * reach the service.
 */
async function callIn(
  deps: Deps,
  call: Omit<SandboxInboundCall, 'sipCallId'>,
): Promise<AdmissionDecision | null> {
  const sipCallId = randomUUID()
  try {
    const decision = await deps.admission.decisionOn(sipCallId, ARRIVAL_MS, () =>
      deps.ringer.callIn({ ...call, sipCallId }),
    )
    if (decision === null) deps.log.warn({ sipCallId }, 'sandbox.inbound_call_lost')
    return decision
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    deps.log.warn({ code: error.code, error: error.message }, 'sandbox.inbound_call_failed')
    return null
  }
}
