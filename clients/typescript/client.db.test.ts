import { readFileSync } from 'node:fs'
import t from 'tap'
import { PROBLEMS } from '../../control/api/problem.js'
import { clientFiles } from '../../control/cli/openapi-files.js'
import { openDatabase } from '../../control/db/database.js'
import { migrate } from '../../control/db/migrate.js'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { silentLog } from '../../media/base/log.js'
import { ParleyClient, ParleyError, paginate } from './client.js'
import { retryDelayMs } from './http-client.js'

t.test('the generated files are what the description says (npm run openapi writes them)', (t) => {
  for (const [path, text] of clientFiles()) t.equal(readFileSync(path, 'utf8'), text, path)
  t.end()
})

t.test('against the service', async (t) => {
  const database = openDatabase('sqlite::memory:', silentLog)
  await migrate(database)
  const calling = await openTestCalling(database)
  t.teardown(async () => {
    await calling.close()
    await database.close()
  })
  const parley = new ParleyClient({ baseUrl: `${calling.api.url}/`, apiKey: calling.api.testKey })

  const agentId = await calling.publishAgent()
  t.equal((await parley.readAgent({ id: agentId })).id, agentId)
  const call = await parley.placeCall({ body: { to: '+919000000010', numberId: calling.numberId } })
  t.equal(call.status, 'queued')
  const again = await parley.placeCall(
    { body: { to: '+919000000010', numberId: calling.numberId } },
    { idempotencyKey: 'order-17' },
  )
  const repeated = await parley.placeCall(
    { body: { to: '+919000000010', numberId: calling.numberId } },
    { idempotencyKey: 'order-17' },
  )
  t.equal(repeated.id, again.id, 'a repeated key gives the first call')

  const first = await parley.listCalls({ query: { limit: 1 } })
  t.match(first, { hasMore: true, total: 2, totalCapped: false })
  const seen: string[] = []
  for await (const { id } of paginate((cursor) => parley.listCalls({ query: { limit: 1, cursor } }))) {
    seen.push(id)
  }
  t.same(seen, [again.id, call.id], 'every item, page after page')

  const refused = await parley.placeCall({ body: { to: '+919', numberId: 'num_x' } }).catch((error) => error)
  t.ok(refused instanceof ParleyError)
  t.match(refused, {
    name: 'ParleyError',
    status: 400,
    code: 'validation_error',
    type: 'invalid_request',
    requestId: /^req_/,
    docUrl: /#validation_error$/,
  })
  t.ok(Array.isArray(refused.details.issues))
  const missing = await parley.readCall({ id: 'call_../x' }).catch((error) => error)
  t.equal(missing.code, 'not_found')
  t.same(await parley.getHealth(), { status: 'ok' })
})

/** Answers in turn; what was sent is kept. */
function scripted(...answers: (Response | Error)[]) {
  const sent: Request[] = []
  const waits: number[] = []
  const parley = new ParleyClient({
    baseUrl: 'http://parley.test',
    apiKey: 'svc_test_x',
    retries: 3,
    async fetch(input, init) {
      sent.push(new Request(input, init))
      const answer = answers.shift()
      if (answer === undefined) throw new Error('nothing left to answer')
      if (answer instanceof Error) throw answer
      return answer
    },
    async sleep(ms) {
      waits.push(ms)
    },
  })
  return { parley, sent, waits }
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: { code, type: 'x', message: code } }, { status, headers })
const success = (data: unknown): Response => Response.json({ data })
const BODY = { to: '+919000000010', numberId: 'num_1' }

t.test('the code of an error decides whether the request is sent again', async (t) => {
  t.test('a busy carrier: the same key again', async (t) => {
    const { parley, sent, waits } = scripted(refusal(503, 'provider_unavailable'), success({ id: 'call_1' }))
    t.equal((await parley.placeCall({ body: BODY })).id, 'call_1')
    t.equal(sent.length, 2)
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    t.ok(keys[0])
    t.equal(keys[0], keys[1])
    t.ok((waits[0] ?? 0) >= 375)
  })
  t.test('a spent budget: after Retry-After', async (t) => {
    const { parley, waits } = scripted(refusal(429, 'rate_limited', { 'retry-after': '7' }), success([]))
    await parley.listAgents()
    t.same(waits, [7000])
  })
  t.test('full pools and refusals: not at all', async (t) => {
    for (const code of ['concurrent_call_limit_reached', 'validation_error', 'conflict', 'blocked_dnd']) {
      const { parley, sent } = scripted(refusal(429, code))
      await t.rejects(parley.placeCall({ body: BODY }), { code })
      t.equal(sent.length, 1)
    }
  })
  t.test('a failed service: what is harmless to repeat, and only so often', async (t) => {
    const reading = scripted(...[1, 2, 3, 4, 5].map(() => refusal(500, 'internal_error')))
    await t.rejects(reading.parley.listAgents(), { code: 'internal_error' })
    t.equal(reading.sent.length, 4)
    const making = scripted(refusal(500, 'internal_error'))
    await t.rejects(making.parley.publishAgent({ id: 'agt_1' }), { code: 'internal_error' })
    t.equal(making.sent.length, 1, 'an effect that could happen twice is not repeated')
  })
  t.test('a lost connection, an answer of a proxy', async (t) => {
    const { parley } = scripted(
      new TypeError('fetch failed'),
      new Response('<h1>Bad gateway</h1>', { status: 502 }),
      success({ id: 'agt_1' }),
    )
    t.equal((await parley.readAgent({ id: 'agt_1' })).id, 'agt_1')
  })
  t.test('an abort ends it', async (t) => {
    const { parley, sent } = scripted(refusal(500, 'internal_error'))
    const signal = AbortSignal.abort(new Error('enough'))
    await t.rejects(parley.listAgents({}, { signal }), { message: 'enough' })
    t.equal(sent.length, 1)
  })
  t.test('every code of the catalogue', (t) => {
    const retried = Object.entries(PROBLEMS).filter(([code, { status }]) => {
      const fields = { type: 'x', details: {}, requestId: null, docUrl: null, retryAfterSeconds: null }
      return retryDelayMs(new ParleyError(code, { ...fields, status, code }), 0, true) !== null
    })
    t.same(retried.map(([code]) => code).sort(), [
      'idempotency_key_in_use',
      'internal_error',
      'provider_unavailable',
      'rate_limited',
    ])
    t.end()
  })
})
