import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import { brokenInvariants } from '../../fixtures/virtual-call/campaign-invariants.js'
import { runCampaigns } from '../../fixtures/virtual-call/campaign-run.js'
import { type LiveCalling, openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import type { Clock } from '../../media/base/clock.js'
import { POLL_MS } from '../jobs/runner.js'
import { lockOrganization, updateOrganizationProfile } from '../organization/profile-store.js'
import { diallerHandler } from './dial-job.js'

async function launch(calling: TestCalling, settings: object, count: number, group = 0): Promise<string> {
  const agentId = await calling.publishAgent({ callSettings: { openingLine: { text: 'Hello.' } } })
  const json = { name: 'Reminders', agentId, numberId: calling.numberId, ...settings }
  const id = String(dataOf(await calling.send('POST', '/v1/campaigns', { json })).id)
  const recipients = Array.from({ length: count }, (_, i) => ({
    e164: `+9198${1 + group}${String(i).padStart(7, '0')}`,
  }))
  await calling.send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients } })
  const headers = { 'idempotency-key': `launch-${id}` }
  const launched = await calling.send('POST', `/v1/campaigns/${id}/launch`, { json: {}, headers })
  if (launched.status !== 200) throw new Error(JSON.stringify(launched.body))
  return id
}

async function launchLive(
  { calling, agentId, numberId, key }: LiveCalling,
  e164s: readonly string[],
  settings: object = {},
): Promise<string> {
  const json = {
    ...{ name: 'Reminders', agentId, numberId },
    schedule: { windowStartMinute: 0, windowEndMinute: 1_440 },
    ...settings,
  }
  const id = String(dataOf(await calling.send('POST', '/v1/campaigns', { key, json })).id)
  const recipients = e164s.map((e164) => ({ e164 }))
  await calling.send('POST', `/v1/campaigns/${id}/recipients`, { key, json: { recipients } })
  const headers = { 'idempotency-key': `launch-${id}` }
  const launched = await calling.send('POST', `/v1/campaigns/${id}/launch`, { key, json: {}, headers })
  if (launched.status !== 200) throw new Error(JSON.stringify(launched.body))
  return id
}

await onEachDialect(t, async (t, open, dialect) => {
  await t.test('a campaign runs to its end', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database)
    t.teardown(() => calling.close())
    const settings = { pacing: { callsPerMinute: 60, maxConcurrent: 3 }, retries: { intervalMinutes: 5 } }
    const id = await launch(calling, settings, 10)
    const run = await runCampaigns(database, calling.deps, calling.clock, {
      processes: 1,
      hours: 4,
      kills: 0,
    })
    t.same(await brokenInvariants(database, run, 2), [])
    const campaign = dataOf(await calling.send('GET', `/v1/campaigns/${id}`))
    t.match(campaign, { status: 'completed', progress: { total: 10, dialed: 10, settled: 10 } })
    const outcomes = dataOf(await calling.send('GET', `/v1/campaigns/${id}/outcomes`))
    const sum = Object.values(outcomes.byDisposition as Record<string, number>).reduce((a, b) => a + b, 0)
    t.equal(sum, 10)
    t.ok(Object.keys(outcomes.byDisposition as object).length >= 3, JSON.stringify(outcomes.byDisposition))
    const events = itemsOf(await calling.send('GET', '/v1/events?type=campaign.completed'))
    t.equal(events.length, 1)
    const gaps = run.dials.slice(1).map(({ at }, i) => at - (run.dials[i]?.at ?? 0))
    t.ok(
      gaps.every((gap) => gap >= 1_000),
      'never faster than the pace',
    )
    const headers = { authorization: `Bearer ${calling.api.testKey}` }
    const csv = await fetch(`${calling.api.url}/v1/campaigns/${id}/outcomes/export.csv`, { headers })
    t.equal((await csv.text()).trim().split('\n').length, 11)
  })

  await t.test('a carrier that fails pauses the campaign until a call gets through', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database)
    t.teardown(() => calling.close())
    const { clock, deps } = calling
    // The dials slow down after each 503: at this pace there are never twenty attempts in five minutes.
    const settings = {
      pacing: { callsPerMinute: 10, maxConcurrent: 3 },
      retries: { intervalMinutes: 5, attempts: 3, on: ['failed', 'busy', 'no_answer'] },
    }
    const id = await launch(calling, settings, 16)
    const worksAt = clock.wall() + 20 * 60_000
    const run = await runCampaigns(database, deps, clock, {
      processes: 1,
      hours: 6,
      kills: 0,
      behaviour: (_, at) =>
        at < worksAt ? { kind: 'refuse', status: 503 } : { kind: 'answer', persona: 'polite' },
    })
    t.same(await brokenInvariants(database, run, 3), [])
    const early = run.dials.filter(({ at }) => at < worksAt)
    const paused = itemsOf(await calling.send('GET', '/v1/events?type=campaign.paused'))
    t.ok(paused.length >= 2, `${paused.length} pauses`)
    // Calls that were under way at the first pause, and one for each pause after it.
    t.ok(early.length < 10 + 3 + paused.length, `${early.length} calls over the broken carrier`)
    t.match(dataOf(await calling.send('GET', `/v1/campaigns/${id}`)), {
      status: 'completed',
      resumesAt: null,
    })
  })

  await t.test(
    'calls that this service cannot start pause the campaign, and exclude a person in the end',
    async (t) => {
      const database = await open()
      const calling = await openTestCalling(database)
      t.teardown(() => calling.close())
      const { clock, deps } = calling
      const { db } = database
      const id = await launch(calling, { pacing: { callsPerMinute: 60, maxConcurrent: 3 } }, 11)
      const people = Array.from({ length: 11 }, (_, i) => `+91981${String(i).padStart(7, '0')}`)
      const [never = ''] = people
      await db.updateTable('campaignRecipients').set({ undone: 19 }).where('e164', '=', never).execute()
      const worksAt = clock.wall() + 60_000
      const run = await runCampaigns(database, deps, clock, {
        ...{ processes: 1, hours: 4, kills: 0 },
        behaviour: () => ({ kind: 'refuse', status: 486 }),
        fault: (number, at) =>
          at < worksAt || number === never
            ? { by: 'engine', cause: 'internal', fault: 'ours', note: 'no voice' }
            : null,
      })
      t.same(await brokenInvariants(database, run, 2), [])
      const calls = await db.selectFrom('calls').select(['toNumber', 'createdAt']).execute()
      const early = calls.filter(({ createdAt }) => createdAt < worksAt).length
      // Ten in a row, and those under way.
      t.ok(early >= 10 && early <= 13, `${early} calls while none can start`)
      const paused = itemsOf(await calling.send('GET', '/v1/events?type=campaign.paused'))
      t.equal(paused.length, 1)
      t.equal(calls.filter(({ toNumber }) => toNumber === never).length, 1)
      t.same(new Set(run.dials.map(({ to }) => to)), new Set(people.slice(1)), 'everybody else is dialled')
      const campaign = dataOf(await calling.send('GET', `/v1/campaigns/${id}`))
      t.match(campaign, {
        status: 'completed',
        progress: { total: 11, dialed: 10, excluded: 1, settled: 11 },
      })
      const outcomes = dataOf(await calling.send('GET', `/v1/campaigns/${id}/outcomes`))
      t.match(outcomes, { byExcludedReason: { service_errors: 1 } })
    },
  )

  await t.test('a dialler that is behind lets other work run', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database)
    t.teardown(() => calling.close())
    const { clock, control, deps, owner } = calling
    const settings = { pacing: { callsPerMinute: 120, maxConcurrent: 1 } }
    for (let i = 0; i < 3; i++) await launch(calling, settings, 1, i)
    let turns = 0
    let over = false
    const count = (): void => {
      turns++
      if (!over) setImmediate(count)
    }
    const dialledIn: number[] = []
    const dial = (...given: Parameters<typeof control.dial>): void => {
      dialledIn.push(turns)
      control.dial(...given)
    }
    // Each look takes longer than the pace allows.
    let lateMs = 0
    const late: Clock = {
      now: () => clock.now() + lateMs,
      wall: () => {
        lateMs += 100
        return clock.wall() + lateMs
      },
      after: (ms, run) => clock.after(ms, run),
    }
    count()
    const abort = new AbortController()
    const job = {
      ...{ id: '', lane: '', payload: JSON.stringify(owner), attempts: 1 },
      signal: abort.signal,
      write: async (): Promise<never> => {
        throw new Error('the job writes nothing')
      },
    }
    const running = diallerHandler({
      ...deps,
      calls: Object.create(control, { dial: { value: dial } }),
      clock: late,
    }).run(job)
    await until(() => dialledIn.length === 3)
    abort.abort()
    await running
    over = true
    t.equal(new Set(dialledIn).size, 3, `dials in the turns ${dialledIn.join(', ')} of the event loop`)
  })

  await t.test(
    'a turn that shall end places the dials that are due, and none that is planned ahead',
    async (t) => {
      const database = await open()
      // Two campaigns over a trunk with a call every 100 ms: the second dial is 100 ms ahead.
      const live = await openLiveCalling(database, { callsPerMinute: 600 })
      const { calling, owner } = live
      t.teardown(() => calling.close())
      const { clock, control, deps } = calling
      for (const group of [0, 1]) await launchLive(live, [`+91981000000${group}`])
      const write = async (): Promise<never> => {
        throw new Error('the job writes nothing')
      }
      const abort = new AbortController()
      abort.abort()
      const job = {
        ...{ id: '', lane: '', payload: JSON.stringify(owner), attempts: 1, write },
        signal: abort.signal,
      }
      await diallerHandler(deps).run(job)
      t.equal(control.dialled.length, 1)
      clock.advance(100)
      await diallerHandler(deps).run(job)
      t.equal(control.dialled.length, 2)
    },
  )

  await t.test('people whom the trunk may not call are excluded without a call', async (t) => {
    const database = await open()
    const live = await openLiveCalling(database)
    const { calling, numberId, agentId, key } = live
    t.teardown(() => calling.close())
    const { clock, deps } = calling
    const { db } = database
    const id = await launchLive(live, ['+919810000001', '+917000000001', '+919810000002', '+917000000002'])
    const campaignBefore = dataOf(await calling.send('GET', `/v1/campaigns/${id}`, { key }))
    t.match(campaignBefore.preflight, { callable: 4 })
    await db.updateTable('sipTrunks').set({ allowedPrefixes: '["+9198"]' }).execute()
    const again = await calling.send('POST', '/v1/calls', {
      json: { to: '+917000000001', numberId, agentId },
      key,
    })
    t.match(again, { status: 422, body: { error: { details: { path: 'to', reason: 'trunk_prefix' } } } })
    const run = await runCampaigns(database, deps, clock, {
      ...{ processes: 1, hours: 1, kills: 0 },
      behaviour: () => ({ kind: 'answer', persona: 'polite' }),
    })
    t.same(run.dials.map(({ to }) => to).toSorted(), ['+919810000001', '+919810000002'])
    t.equal((await db.selectFrom('calls').select('id').execute()).length, 2)
    const campaign = dataOf(await calling.send('GET', `/v1/campaigns/${id}`, { key }))
    t.match(campaign, { status: 'completed', progress: { dialed: 2, excluded: 2, settled: 4 } })
    const outcomes = dataOf(await calling.send('GET', `/v1/campaigns/${id}/outcomes`, { key }))
    t.match(outcomes, { byExcludedReason: { trunk_prefix: 2 } })
    const preflight = await launchLive(live, ['+917000000003', '+919810000003'])
    t.match(dataOf(await calling.send('GET', `/v1/campaigns/${preflight}`, { key })).preflight, {
      callable: 1,
      excluded: { trunk_prefix: 1 },
      excludedE164s: { trunk_prefix: ['+917000000003'] },
    })
  })

  for (const [others, most] of [
    [0, 4],
    [8, 2],
  ] as const) {
    await t.test(
      `of ten slots campaigns hold ${most} at most while other calls hold ${others}`,
      async (t) => {
        const database = await open()
        const calling = await openTestCalling(database)
        t.teardown(() => calling.close())
        const { clock, deps, owner } = calling
        const { organizationId } = owner
        const { db } = database
        await db
          .insertInto('callingProfiles')
          .values({
            ...{ organizationId, agentCallsTest: 10, agentCallsLive: null, ratePaisePerMinute: null },
            ...{ enforcedAt: null, enforcedReason: null, windowStartMinute: null, windowEndMinute: null },
          })
          .execute()
        await db.transaction().execute(async (trx) => {
          await lockOrganization(trx, organizationId, clock.wall())
          await updateOrganizationProfile(trx, organizationId, { campaignSharePercent: 40 })
        })
        await calling.publishAgent()
        for (let i = 0; i < others; i++) {
          const json = { to: `+91970000000${i}`, numberId: calling.numberId }
          t.equal((await calling.send('POST', '/v1/calls', { json })).status, 201)
        }
        // They last longer than the campaigns, at another process.
        const elsewhere = { nodeId: 'elsewhere', leaseUntil: clock.wall() + 86_400_000 }
        await db.updateTable('calls').set(elsewhere).execute()
        await db.updateTable('callSlots').set({ nodeId: 'elsewhere' }).execute()
        const settings = { pacing: { callsPerMinute: 60, maxConcurrent: 10 } }
        for (const group of [0, 1]) await launch(calling, settings, 4, group)
        const run = await runCampaigns(database, deps, clock, {
          ...{ processes: 2, hours: 1, kills: 0 },
          behaviour: () => ({ kind: 'answer', persona: 'polite' }),
        })
        t.equal(run.dials.length, 8)
        t.equal(run.mostAtOnce, most)
      },
    )
  }

  // The tests of the job runner cover the differences between the databases.
  if (dialect === 'sqlite') {
    await t.test('two processes take turns at a campaign that always dials', async (t) => {
      const database = await open()
      const calling = await openTestCalling(database)
      t.teardown(() => calling.close())
      const { clock, deps } = calling
      // Less than a look of the other process apart, and the ends of turns fall on none by chance.
      await launch(
        calling,
        { pacing: { callsPerMinute: 31, maxConcurrent: 5 }, retries: { attempts: 1 } },
        75,
      )
      const run = await runCampaigns(database, deps, clock, {
        ...{ processes: 2, hours: 1, kills: 0, pollMs: POLL_MS },
        behaviour: () => ({ kind: 'refuse', status: 486 }),
      })
      t.same(await brokenInvariants(database, run, 1), [])
      const calls = await database.db.selectFrom('calls').select('nodeId').orderBy('createdAt').execute()
      let longest = 0
      for (let i = 0, length = 0; i < calls.length; i++) {
        length = i > 0 && calls[i]?.nodeId === calls[i - 1]?.nodeId ? length + 1 : 1
        longest = Math.max(longest, length)
      }
      // A minute, the rest of a turn of ten seconds, and the dial at its end.
      t.ok(longest <= (31 * 70) / 60 + 2, `${longest} of 75 calls in a row by one of two processes`)
      const times = run.dials.map(({ at }) => at)
      const gaps = times.slice(1).map((at, i) => at - (times[i] ?? at))
      t.ok(
        Math.max(...gaps) <= 60_000 / 31 + POLL_MS + 1_000,
        'the other process dials from its next look on',
      )
    })
  }

  await t.test('processes die and others take over', async (t) => {
    const database = await open()
    const calling = await openTestCalling(database)
    t.teardown(() => calling.close())
    const settings = {
      pacing: { callsPerMinute: 60, maxConcurrent: 4 },
      retries: { intervalMinutes: 5, attempts: 3 },
    }
    await launch(calling, settings, 12)
    const run = await runCampaigns(database, calling.deps, calling.clock, {
      processes: 2,
      hours: 12,
      kills: 10,
    })
    t.ok(run.kills >= 5, `${run.kills} deaths`)
    t.same(await brokenInvariants(database, run, 3), [])
  })
})
