import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { EngineError } from '../../media/base/errors.js'
import { insertNumber } from '../numbers/store.js'

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, numberId, ringing, api, deps, owner } = calling
  const path = '/v1/sandbox/inbound-calls'
  const json = { numberId, from: '+919876543210' }

  await t.test('the carrier is asked to place an inbound call', async (t) => {
    const answer = await send('POST', path, { json })
    t.equal(answer.status, 202)
    t.same(dataOf(answer), { numberId, from: '+919876543210', to: '+919000000100', persona: 'polite' })
    await send('POST', path, { json: { ...json, persona: 'silent' } })
    t.same(
      ringing.map((call) => call.persona),
      ['polite', 'silent'],
    )
  })

  await t.test('refusals', async (t) => {
    const code = async (status: number, expected: string, request: { key?: string; json: unknown }) => {
      const answer = await send('POST', path, request)
      t.equal(answer.status, status, JSON.stringify(request.json))
      t.equal((answer.body as { error: { code: string } }).error.code, expected)
    }
    await code(403, 'forbidden', { key: api.liveKey, json })
    await code(404, 'not_found', { json: { ...json, numberId: 'num_01JZ0000000000000000000000' } })
    await code(404, 'not_found', { json: { ...json, numberId: 'x' } })
    await code(422, 'unprocessable_entity', { json: { ...json, persona: 'nobody' } })
    await code(400, 'validation_error', { json: { ...json, from: '12' } })
    await code(400, 'validation_error', { json: { numberId } })
    const live = await insertNumber(
      deps.db,
      {
        ...owner,
        environment: 'live',
        e164: '+911171366900',
        label: 'L',
        provider: 'x',
        region: 'DL',
        numberType: 'landline',
      },
      0,
    )
    await code(422, 'environment_mismatch', { json: { ...json, numberId: live?.id } })
    const other = await calling.anotherOrganization()
    await code(404, 'not_found', { key: other.testKey, json })
    calling.control.failure = new EngineError('overloaded', 'no worker has room')
    await code(503, 'provider_unavailable', { json })
    t.equal(ringing.length, 2)
  })
  await calling.close()
})
