import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { settleExpiredCalls } from '../../calls/lifecycle/abandoned.js'
import { optOutTool } from '../../calls/opt-out.js'
import { policyInForce } from '../../compliance/policy.js'
import type { ClaimedJob } from '../../jobs/runner.js'
import { diallerJob } from '../../recipients/dialler-job.js'
import { diallerHandler } from '../dial-job.js'
import { scheduleCallbackTool } from './schedule-tool.js'

const HOUR = 3_600_000
const PERSON = '+919876543210'

await onEachDialect(t, async (t, open) => {
  async function start() {
    const calling = await openTestCalling(await open())
    const { deps, clock, control, owner } = calling
    await calling.publishAgent()
    const placed = await calling.send('POST', '/v1/calls', {
      json: { to: PERSON, numberId: calling.numberId, variables: { name: 'Asha' } },
    })
    const callId = String(dataOf(placed).id)
    await calling.emitCallEvent(callId, { type: 'answered' })
    const tool = scheduleCallbackTool({ db: deps.db, clock })
    return {
      calling,
      callId,
      clock,
      db: deps.db,
      list: async (query = '') => itemsOf(await calling.send('GET', `/v1/callbacks${query}`)),
      schedule: (at: number, note = '') => tool(callId, { at, note }),
      /** Carries out one turn of the dial job. Returns when the next one is due. */
      async turn(): Promise<number | null> {
        const { id, lane, payload } = diallerJob(owner)
        const signal = new AbortController().signal
        const write: ClaimedJob['write'] = (run) => deps.db.transaction().execute(run)
        const job = { id, lane, payload, attempts: 1, signal, write }
        const outcome = await diallerHandler(deps).run(job)
        const next = await deps.db.transaction().execute(outcome)
        return typeof next === 'object' ? (next?.dueAt ?? null) : next
      },
      dialled: () => control.dialled.map(({ permit }) => permit.to),
      end: (id: string) =>
        calling.emitCallEvent(id, {
          type: 'ended',
          ending: { by: 'caller', cause: 'caller_hangup', fault: 'none' },
          rtp: null,
          recording: null,
        }),
    }
  }

  await t.test('a promised call is placed once, at its time', async (t) => {
    const { calling, callId, clock, db, list, schedule, turn, dialled, end } = await start()
    const at = clock.wall() + HOUR
    t.match(await schedule(clock.wall() + 31 * 24 * HOUR), { refusal: 'time_not_allowed' })
    t.same(await schedule(at + HOUR, 'too early'), { status: 'done' })
    t.same(await schedule(at, 'about the table'), { status: 'done' })
    t.same(await schedule(at, 'about the table'), { status: 'done' })
    t.equal((await list()).length, 2, 'a repeated promise is one')
    const [callback] = await list('?status=scheduled')
    t.match(callback, { callId, e164: PERSON, note: 'about the table', at: new Date(at).toISOString() })
    t.match(await list('?status=canceled'), [{ reason: 'replaced' }])
    t.equal((await list(`?dueAfter=${new Date(at + 1).toISOString()}`)).length, 1)
    const waking = await db
      .selectFrom('jobs')
      .select('dueAt')
      .where('id', '=', diallerJob(calling.owner).id)
      .execute()
    t.equal(waking.length, 1, 'the dial job is awake')
    await end(callId)

    t.ok(Number(await turn()) <= at)
    t.same(dialled(), [PERSON], 'only the first call')
    clock.advance(HOUR)
    t.equal(await turn(), null, 'nothing is left to do')
    await turn()
    t.same(dialled(), [PERSON, PERSON])
    const after = dataOf(await calling.send('GET', `/v1/callbacks/${callback?.id}`))
    t.match(after, { status: 'dialled', reason: null })
    const call = await db
      .selectFrom('calls')
      .selectAll()
      .where('id', '=', String(after.resultCallId))
      .executeTakeFirstOrThrow()
    t.match(call, { callbackId: callback?.id, toNumber: PERSON, variables: '{"name":"Asha"}' })
    const checks = itemsOf(await calling.send('GET', `/v1/compliance/checks?e164=%2B${PERSON.slice(1)}`))
    t.ok(checks.some(({ trigger }) => trigger === 'callback'))
    const late = await calling.send('POST', `/v1/callbacks/${callback?.id}/cancel`, { json: {} })
    t.match(late, { status: 409, body: { error: { code: 'conflict', details: { status: 'dialled' } } } })
    await calling.close()
  })

  await t.test('a cancel, an opt-out and a foreign key', async (t) => {
    const { calling, callId, clock, db, list, schedule, turn, dialled } = await start()
    await schedule(clock.wall() + HOUR)
    const id = String((await list())[0]?.id)
    const other = await calling.anotherOrganization()
    for (const [method, path] of [
      ['GET', `/v1/callbacks/${id}`],
      ['POST', `/v1/callbacks/${id}/cancel`],
    ] as const) {
      const key = other.testKey
      t.equal((await calling.send(method, path, { key })).status, 404)
    }
    for (const _ of [1, 2]) {
      const canceled = dataOf(await calling.send('POST', `/v1/callbacks/${id}/cancel`, { json: {} }))
      t.match(canceled, { status: 'canceled', reason: 'operator' })
    }
    clock.advance(1_000)
    await schedule(clock.wall() + 2 * HOUR)
    await optOutTool({ db, clock, policy: policyInForce(null) })(callId, { reason: '' })
    t.match(await list('?status=canceled'), [{ reason: 'opt_out' }, { reason: 'operator' }])
    clock.advance(3 * HOUR)
    await turn()
    t.equal(dialled().length, 1)
    await calling.close()
  })

  await t.test(
    'the number of a caller is not proven: it is marked, bounded, and passes the gate',
    async (t) => {
      const { calling, callId, clock, db, list, schedule, turn, dialled, end } = await start()
      await schedule(clock.wall() + HOUR)
      t.match(await list(), [{ e164: PERSON, numberProven: true }], 'the service called this number')
      await end(callId)
      const first = await db
        .selectFrom('calls')
        .selectAll()
        .where('id', '=', callId)
        .executeTakeFirstOrThrow()
      const tool = scheduleCallbackTool({ db, clock })
      const callIn = async (id: string) => {
        const [fromNumber, toNumber] = [PERSON, first.fromNumber]
        const inbound = { direction: 'inbound', fromNumber, toNumber, idempotencyId: null } as const
        await db
          .insertInto('calls')
          .values({ ...first, ...inbound, id, sipCallId: id })
          .execute()
        return (at: number) => tool(id, { at, note: 'call my neighbour +919812300000' })
      }
      const calls = await Promise.all([1, 2, 3, 4].map((n) => callIn(`call_in_${n}`)))
      const answers = await Promise.all(calls.map((promise) => promise(clock.wall() + HOUR)))
      t.equal(answers.filter(({ status }) => status === 'done').length, 3)
      const refused = answers.findIndex(({ status }) => status !== 'done')
      t.match(answers[refused], { refusal: 'too_many_callbacks' })
      for (const [i, promise] of calls.entries()) {
        const again = await promise(clock.wall() + 10 * HOUR)
        t.equal(again.status, i === refused ? 'refused' : 'done', 'another time takes the place of the first')
      }
      const open = await list('?status=scheduled')
      t.match(
        open.map(({ e164, numberProven }) => [e164, numberProven]),
        [
          [PERSON, false],
          [PERSON, false],
          [PERSON, false],
          [PERSON, true],
        ],
        'the number that was only spoken is not dialled',
      )
      const id = String(open[0]?.id)
      t.match(dataOf(await calling.send('GET', `/v1/callbacks/${id}`)), { numberProven: false })
      t.match(dataOf(await calling.send('POST', `/v1/callbacks/${id}/cancel`, { json: {} })), {
        status: 'canceled',
        numberProven: false,
      })

      // Ten hours later it is night, and collections have hours.
      await db.updateTable('agents').set({ purpose: 'collections' }).execute()
      await db.updateTable('agentVersions').set({ purpose: 'collections' }).execute()
      clock.advance(10 * HOUR)
      await turn()
      t.match(await list('?status=due'), [
        { reason: 'outside_window', numberProven: false },
        { reason: 'outside_window', numberProven: false },
        { reason: 'outside_window', numberProven: true },
      ])
      const json = { e164: PERSON, reason: 'complaint' }
      t.match(await calling.send('POST', '/v1/dnc', { json }), { status: 201 })
      clock.advance(12 * HOUR)
      await turn()
      t.equal((await list('?status=refused')).length, 3, 'the do-not-call list counts')
      t.same(dialled(), [PERSON], 'only the call of the start')
      await calling.close()
    },
  )

  await t.test('a callback whose process died before the INVITE is dialled by another one', async (t) => {
    const { calling, clock, callId, db, list, schedule, turn, dialled, end } = await start()
    await schedule(clock.wall() + HOUR)
    await end(callId)
    clock.advance(HOUR)
    await turn()
    const [callback] = await list()
    const lost = String(callback?.resultCallId)
    const now = clock.wall() + 120_000
    const expired = {
      ...{ db, policy: policyInForce(null), nodeId: 'node-2', folder: calling.folder, now },
      owned: new Set<string>(),
    }
    // A process of an earlier release that died after the transaction of the call left this.
    await db.updateTable('calls').set({ sentAt: null }).where('id', '=', lost).execute()
    t.equal(await settleExpiredCalls(expired), 1)
    t.match(await list(), [{ status: 'due', reason: 'not_sent', resultCallId: null }])
    const job = await db
      .selectFrom('jobs')
      .select('dueAt')
      .where('id', '=', diallerJob(calling.owner).id)
      .executeTakeFirstOrThrow()
    t.ok(job.dueAt <= now, 'the dial job is awake')
    clock.advance(120_000)
    t.equal(await turn(), null)
    t.same(dialled(), [PERSON, PERSON, PERSON])
    const [again] = await list()
    t.match(again, { status: 'dialled', reason: null })
    t.not(again?.resultCallId, lost)

    // This one left a mark, so that the INVITE may have been sent.
    t.equal(await settleExpiredCalls({ ...expired, now: clock.wall() + 120_000 }), 1)
    t.match(await list(), [{ status: 'dialled', resultCallId: again?.resultCallId }])
    await calling.close()
  })

  await t.test('a callback that cannot be placed waits, and is refused after a day', async (t) => {
    const { calling, clock, callId, list, schedule, turn, dialled, end } = await start()
    await schedule(clock.wall() + HOUR)
    await end(callId)
    clock.advance(HOUR)
    calling.control.connected = false
    const next = await turn()
    t.match(await list(), [{ status: 'due' }])
    t.ok(Number(next) > clock.wall())
    clock.advance(25 * HOUR)
    await turn()
    t.match(await list(), [{ status: 'refused', reason: 'too_late' }])
    t.equal(dialled().length, 1)
    await calling.close()
  })
})
