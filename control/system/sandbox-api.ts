import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import { isId } from '../../media/base/ids.js'
import { operation } from '../api/operation.js'
import { refuse, unavailable } from '../api/problem.js'
import { E164 } from '../base/schemas.js'
import { existsInOtherEnvironment, findNumber } from '../numbers/store.js'

const DEFAULT_PERSONA = 'polite'

export const callInToSandbox = operation({
  id: 'createSandboxInboundCall',
  method: 'post',
  path: '/v1/sandbox/inbound-calls',
  tag: 'Sandbox',
  summary: 'Place a simulated inbound call',
  description: 'The simulated carrier calls one of your test numbers.',
  audience: 'key',
  scope: 'write',
  environment: 'test',
  body: z.strictObject({
    numberId: z.string(),
    from: E164,
    persona: z.string().max(60).optional().meta({ description: 'Simulated caller. The default is polite.' }),
  }),
  status: 202,
  result: z.object({ numberId: z.string(), from: z.string(), to: z.string(), persona: z.string() }),
  fails: ['not_found', 'environment_mismatch', 'unprocessable_entity', 'provider_unavailable'],
  run: async ({ body, actor, deps }) => {
    const number = isId('num', body.numberId) ? await findNumber(deps.db, actor, body.numberId) : null
    if (number === null) {
      return (await existsInOtherEnvironment(deps.db, actor, body.numberId))
        ? refuse(
            'environment_mismatch',
            'The number belongs to the live environment. Use a number of the test environment.',
            { path: 'numberId' },
          )
        : refuse('not_found', 'The number does not exist. Set numberId to an existing number.', {
            resource: 'number',
            path: 'numberId',
          })
    }
    if (!deps.calls.connected)
      return unavailable('The SIP server is not connected. Retry in a moment.', { reason: 'no_sip_server' })
    const { personas } = deps.ringer
    const persona = body.persona ?? DEFAULT_PERSONA
    if (!personas.includes(persona)) {
      return refuse(
        'unprocessable_entity',
        `The persona does not exist. Use one of: ${personas.join(', ')}.`,
        {
          path: 'persona',
        },
      )
    }
    try {
      await deps.ringer.callIn({ from: body.from, to: number.e164, persona })
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      deps.log.warn({ code: error.code, error: error.message }, 'sandbox.inbound_call_failed')
      return refuse(
        'provider_unavailable',
        'The simulated carrier cannot place the call now. Retry in a moment.',
        {
          provider: 'sandbox',
        },
      )
    }
    return { numberId: number.id, from: body.from, to: number.e164, persona }
  },
})
