import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { EngineError } from '../../media/base/errors.js'
import { insertNumber } from '../numbers/store.js'

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, numberId, ringing, api, deps, owner, clock, control } = calling
  const path = '/v1/sandbox/inbound-calls'
  const json = { numberId, from: '+919876543210' }

  await t.test('a call that the service refuses is an error', async (t) => {
    const answer = await send('POST', path, { json })
    t.match(answer, {
      status: 422,
      body: {
        error: {
          code: 'unprocessable_entity',
          message: /agent/,
          details: { path: 'numberId', sipStatus: 404 },
        },
      },
    })
    ringing.length = 0
  })

  await calling.publishAgent()
  await t.test('a call beyond the limit of concurrent calls is stored', async (t) => {
    for (let i = 0; i < 5; i++) t.equal((await send('POST', path, { json })).status, 202)
    const answer = await send('POST', path, { json })
    t.equal(answer.status, 202)
    const call = dataOf(await send('GET', `/v1/calls/${dataOf(answer).callId}`))
    t.match(call, { status: 'ended', endedReason: 'pool_full' })
    await deps.db.deleteFrom('callSlots').execute()
    ringing.length = 0
  })

  await t.test('a call that does not reach the service is an error', async (t) => {
    control.losesInvites = true
    const answer = send('POST', path, { json })
    await until(() => ringing.length > 0)
    clock.advance(10_000)
    t.match(await answer, { status: 503, body: { error: { code: 'provider_unavailable' } } })
    control.losesInvites = false
    ringing.length = 0
    control.draining = true
    t.match(await send('POST', path, { json }), {
      status: 503,
      body: { error: { details: { reason: 'draining' } } },
    })
    control.draining = false
    t.same(ringing, [])
  })

  await t.test('the carrier is asked to place an inbound call', async (t) => {
    const answer = await send('POST', path, { json })
    t.equal(answer.status, 202)
    const { callId, ...rest } = dataOf(answer)
    t.same(rest, { numberId, from: '+919876543210', to: '+919000000100', persona: 'polite' })
    t.match(dataOf(await send('GET', `/v1/calls/${callId}`)), {
      direction: 'inbound',
      from: '+919876543210',
      to: '+919000000100',
    })
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
    await code(400, 'validation_error', { json: { ...json, persona: 'nobody' } })
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
