import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { openCallRequests } from './call-requests.js'
import { liveCallRequests } from './live-call-api.js'

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), {})
  const { api, deps, clock, control } = calling
  const { db } = deps
  await calling.publishAgent()
  const place = async (): Promise<string> => {
    const json = { to: '+919876543210', numberId: calling.numberId }
    return String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
  }
  const send = (id: string, what: 'say' | 'note', json: object) =>
    calling.send('POST', `/v1/calls/${id}/${what}`, { json })
  const audit = async () => {
    const rows = await db.selectFrom('auditEntries').select(['action', 'subjectId']).orderBy('id').execute()
    return rows.filter(({ action }) => action === 'call.said' || action === 'call.noted')
  }
  const notLive = { status: 409, body: { error: { code: 'call_not_live' } } }

  const id = await place()
  await t.test('a call that does not run', async (t) => {
    t.match(await send(id, 'say', { text: 'Hello' }), notLive)
    t.match(await send(id, 'note', { text: 'Hello' }), notLive)
    t.match(await send('call_01JZZZZZZZZZZZZZZZZZZZZZZZ', 'say', { text: 'Hello' }), { status: 404 })
    t.same([control.said, control.noted, await audit()], [[], [], []])
  })

  await calling.emitCallEvent(id, { type: 'answered' })
  await t.test('a running call', async (t) => {
    t.match(dataOf(await send(id, 'say', { text: '  One moment. ' })), { outcome: 'said' })
    control.saying = 'cut'
    t.match(dataOf(await send(id, 'say', { text: 'Stop.', interrupt: true })), { outcome: 'cut' })
    t.match(dataOf(await send(id, 'note', { text: 'He is a customer of 2019.' })), { noted: true })
    t.same(control.said, [
      { callId: id, text: 'One moment.', now: false },
      { callId: id, text: 'Stop.', now: true },
    ])
    t.same(control.noted, [{ callId: id, text: 'He is a customer of 2019.' }])
    t.same(
      await audit(),
      ['call.said', 'call.said', 'call.noted'].map((action) => ({ action, subjectId: id })),
    )
    for (const json of [
      { text: ' ' },
      { text: 'x'.repeat(1_001) },
      { text: 1 },
      {},
      { text: 'x', more: 1 },
    ]) {
      t.match(await send(id, 'say', json), { status: 400, body: { error: { code: 'validation_error' } } })
    }
    const other = { key: api.liveKey, json: { text: 'x' } }
    t.match(await api.send('POST', `/v1/calls/${id}/say`, other), { status: 404 })
  })

  await t.test('a long text is not waited for', async (t) => {
    control.saying = new Promise(() => {})
    const asked = send(id, 'say', { text: 'A long story.' })
    await until(() => control.said.length === 3)
    clock.advance(10_000)
    t.match(dataOf(await asked), { outcome: 'in_progress' })
  })

  await t.test('a call without media or agent, and one whose media fails', async (t) => {
    control.alive.delete(id)
    t.match(await send(id, 'say', { text: 'x' }), notLive)
    t.match(await send(id, 'note', { text: 'x' }), notLive)
    control.alive.add(id)
    control.saying = new Error('the worker is gone')
    t.match(dataOf(await send(id, 'say', { text: 'x' })), { outcome: 'failed' })
  })

  await t.test('a call of another process', async (t) => {
    control.saying = 'said'
    const second = await place()
    await calling.emitCallEvent(second, { type: 'answered' })
    await db.updateTable('calls').set({ nodeId: 'node-2' }).where('id', '=', second).execute()
    const requests = openCallRequests({
      ...{ db, clock, log: deps.log, nodeId: 'node-2', live: () => 1 },
      handlers: liveCallRequests(deps),
      done: deps.doneRequests,
    })
    t.teardown(() => requests.close())
    let answered = false
    const both = Promise.all([
      send(second, 'say', { text: 'From afar.' }),
      send(second, 'note', { text: 'Note.' }),
    ])
    void both.finally(() => {
      answered = true
    })
    // The clock does not outrun the database.
    await until(
      () => {
        if (!answered) clock.advance(50)
        return answered
      },
      { everyMs: 5 },
    )
    const [said, noted] = await both
    t.match([dataOf(said), dataOf(noted)], [{ outcome: 'said' }, { noted: true }])
    t.equal(control.said.at(-1)?.text, 'From afar.')
    t.equal(control.noted.at(-1)?.text, 'Note.')
  })
  await calling.close()
})
