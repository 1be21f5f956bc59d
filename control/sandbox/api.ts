import { z } from 'zod'
import { isId } from '../../media/base/ids.js'
import { operation } from '../http/operation.js'
import { refuse } from '../http/problem.js'
import { E164 } from '../http/schemas.js'
import { findNumber, isOfOtherEnvironment } from '../numbers/store.js'

export const callInToSandbox = operation({
  id: 'createSandboxInboundCall',
  method: 'post',
  path: '/v1/sandbox/inbound-calls',
  tag: 'Sandbox',
  summary: 'Make the simulated carrier call one of your test numbers.',
  audience: 'key',
  scope: 'write',
  environment: 'test',
  body: z.strictObject({
    numberId: z.string(),
    from: E164,
    persona: z.string().max(60).optional().meta({ description: 'Who calls; the polite person by default.' }),
  }),
  status: 202,
  result: z.object({ numberId: z.string(), from: z.string(), to: z.string(), persona: z.string() }),
  fails: ['not_found', 'environment_mismatch', 'unprocessable_entity'],
  run: async ({ body, actor, deps }) => {
    const number = isId('num', body.numberId) ? await findNumber(deps.db, actor, body.numberId) : null
    if (number === null) {
      return (await isOfOtherEnvironment(deps.db, actor, body.numberId))
        ? refuse('environment_mismatch', 'The number belongs to the other environment.', { path: 'numberId' })
        : refuse('not_found', 'There is no such number.', { resource: 'number', path: 'numberId' })
    }
    const { personas } = deps.ringer
    const persona = body.persona ?? personas[0]
    if (persona === undefined || !personas.includes(persona)) {
      return refuse('unprocessable_entity', `There is no such persona; there are ${personas.join(', ')}.`, {
        path: 'persona',
      })
    }
    await deps.ringer.callIn({ from: body.from, to: number.e164, persona })
    return { numberId: number.id, from: body.from, to: number.e164, persona }
  },
})
