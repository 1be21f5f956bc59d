import t, { type Test } from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { type CampaignRun, runCampaigns } from '../../fixtures/virtual-call/campaign-run.js'
import type { OpenDatabase } from '../db/database.js'

const HOUR = 3_600_000

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

/** Checks what holds for every run, however often processes died. */
async function checkInvariants(
  t: Test,
  database: OpenDatabase,
  run: CampaignRun,
  attempts: number,
): Promise<void> {
  const { db } = database
  const campaign = await db.selectFrom('campaigns').selectAll().executeTakeFirstOrThrow()
  const recipients = await db.selectFrom('campaignRecipients').selectAll().execute()
  const calls = await db.selectFrom('calls').selectAll().where('campaignId', 'is not', null).execute()
  t.equal(campaign.status, 'completed')
  const dialsOf = new Map<string, number>()
  for (const { to } of run.dials) dialsOf.set(to, (dialsOf.get(to) ?? 0) + 1)
  t.ok(
    [...dialsOf.values()].every((count) => count <= attempts),
    'nobody is dialled more often than allowed',
  )
  t.equal(new Set(run.dials.map(({ callId }) => callId)).size, run.dials.length, 'one dial per attempt')
  const sent = calls.filter(({ sentAt }) => sentAt !== null)
  const known = new Set(sent.map(({ id }) => id))
  t.ok(
    run.dials.every(({ callId }) => known.has(callId)),
    'every dial has its mark',
  )
  for (const { e164, attempts: counted } of recipients) {
    if ((dialsOf.get(e164) ?? 0) > counted) t.ok(false, `${e164}: an attempt was forgotten`)
  }
  const minutes = run.dials.map(({ at }) => Math.floor(((at + 330 * 60_000) % (24 * HOUR)) / 60_000))
  t.ok(
    minutes.every((minute) => minute >= 540 && minute < 1_260),
    'never outside the window',
  )
  const byNumber = calls.toSorted((a, b) => a.toNumber.localeCompare(b.toNumber) || a.createdAt - b.createdAt)
  const doubled = byNumber.filter((call, i) => {
    const before = byNumber[i - 1]
    return before?.toNumber === call.toNumber && (before.endedAt ?? Number.POSITIVE_INFINITY) > call.createdAt
  })
  t.same(doubled, [], 'never two calls to one number at once')
  t.ok(run.mostAtOnce <= campaign.maxConcurrent, 'never more calls than allowed')
  t.same(
    recipients.filter(({ status }) => status !== 'settled'),
    [],
    'everybody is settled',
  )
  const { total, dialed, connected, settled, spentPaise } = campaign
  t.same(
    { total, dialed, connected, settled, spentPaise },
    {
      total: recipients.length,
      dialed: recipients.filter(({ lastAttemptAt }) => lastAttemptAt !== null).length,
      connected: recipients.filter(({ connectedAt }) => connectedAt !== null).length,
      settled: recipients.length,
      spentPaise: calls.reduce((sum, { billedPaise }) => sum + billedPaise, 0),
    },
    'the totals are those of the rows',
  )
  t.same(await db.selectFrom('callSlots').selectAll().execute(), [], 'no slot is left')
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
    await checkInvariants(t, database, run, 2)
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
    await checkInvariants(t, database, run, 3)
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
    await checkInvariants(t, database, run, 3)
  })
})
