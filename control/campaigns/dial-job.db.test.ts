import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { brokenInvariants } from '../../fixtures/virtual-call/campaign-invariants.js'
import { runCampaigns } from '../../fixtures/virtual-call/campaign-run.js'

async function launch(calling: TestCalling, settings: object, count: number): Promise<string> {
  const agentId = await calling.publishAgent({ callSettings: { openingLine: { text: 'Hello.' } } })
  const json = { name: 'Reminders', agentId, numberId: calling.numberId, ...settings }
  const id = String(dataOf(await calling.send('POST', '/v1/campaigns', { json })).id)
  const recipients = Array.from({ length: count }, (_, i) => ({
    e164: `+91981${String(i).padStart(7, '0')}`,
  }))
  await calling.send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients } })
  const headers = { 'idempotency-key': `launch-${id}` }
  const launched = await calling.send('POST', `/v1/campaigns/${id}/launch`, { json: {}, headers })
  if (launched.status !== 200) throw new Error(JSON.stringify(launched.body))
  return id
}

await onEachDialect(t, async (t, open) => {
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
    const id = await launch(calling, settings, 30)
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
      kills: 20,
    })
    t.ok(run.kills >= 5, `${run.kills} deaths`)
    t.same(await brokenInvariants(database, run, 3), [])
  })
})
