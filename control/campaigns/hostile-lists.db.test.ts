import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

/*
 * Bodies that are made to keep the service busy. Each is answered shortly, with few bytes, and other requests are
 * answered while a long one is read.
 */

const CSV = { 'content-type': 'text/csv' }
const MOST_BYTES = 256 * 1024

async function openCampaign(calling: TestCalling): Promise<string> {
  const agentId = await calling.publishAgent()
  const json = { name: 'Reminders', agentId, numberId: calling.numberId }
  return String(dataOf(await calling.send('POST', '/v1/campaigns', { json })).id)
}

function sizeOf(answer: { readonly body: unknown }): number {
  return JSON.stringify(answer.body).length
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  t.teardown(() => calling.close())
  const campaign = await openCampaign(calling)
  const path = `/v1/campaigns/${campaign}/recipients`
  const upload = (text: string) => calling.send('POST', `${path}/import`, { raw: text, headers: CSV })

  /** Sends requests for the health of the service, one after the other, until `attack` is answered. */
  async function healthDuring(attack: Promise<unknown>): Promise<number> {
    let over = false
    const ended = attack.finally(() => {
      over = true
    })
    let answered = 0
    while (!over) {
      const { status } = await calling.send('GET', '/v1/health', { key: null })
      if (!over && status === 200) answered++
    }
    await ended
    return answered
  }

  await t.test('variables of the wrong type', async (t) => {
    const variables = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, i]))
    const call = (count: number) =>
      calling.send('POST', '/v1/calls', {
        json: { to: '+919800000001', numberId: calling.numberId, variables: variables(count) },
      })
    const tooMany = await call(20_000)
    t.match(tooMany, { status: 400, body: { error: { code: 'bad_request', message: /limit is 10000/ } } })
    const wrong = await call(9_000)
    t.match(wrong, {
      status: 400,
      body: { error: { code: 'validation_error', details: { issues: { length: 100 }, issueCount: 9_000 } } },
    })
    t.ok(sizeOf(wrong) < MOST_BYTES)
    const recipients = Array.from({ length: 1_000 }, () => ({ e164: 1, variables: variables(40) }))
    const sent = calling.send('POST', path, { json: { recipients } })
    t.ok((await healthDuring(sent)) >= 3, 'other requests are answered meanwhile')
    const rows = await sent
    t.match(rows, {
      status: 400,
      body: { error: { details: { issues: { length: 100 }, issueCount: 41_000 } } },
    })
    t.ok(sizeOf(rows) < MOST_BYTES)
  })

  await t.test('a list of wrong rows only', async (t) => {
    const sent = upload(`e164,name\n${'12345,x\n'.repeat(99_000)}`)
    t.ok((await healthDuring(sent)) >= 5, 'other requests are answered meanwhile')
    const answer = await sent
    const { imported, rejectedCount, rejected } = dataOf(answer)
    t.same([imported, rejectedCount, (rejected as unknown[]).length], [0, 99_000, 1_000])
    t.match((rejected as unknown[])[0], { index: 0, line: 2 })
    t.ok(sizeOf(answer) < MOST_BYTES)
  })

  await t.test('too many rows or columns', async (t) => {
    const rows = await upload(`e164\n${'+919800000001\n'.repeat(100_001)}`)
    t.match(rows, { status: 400, body: { error: { code: 'bad_request', message: /limit is 100000 rows/ } } })
    const header = Array.from({ length: 8_000 }, (_, i) => `c${i}`).join(',')
    const columns = await upload(`${header}\n${`${','.repeat(300)}\n`.repeat(30_000)}`)
    t.match(columns, { status: 400, body: { error: { message: /8000 columns. The limit is 51/ } } })
    t.match(dataOf(await calling.send('GET', `/v1/campaigns/${campaign}`)), { progress: { total: 0 } })
  })
})
