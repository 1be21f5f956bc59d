import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { DayCounts } from './store.js'

/** 23:50 in India. */
const EVENING = Date.parse('2026-03-10T18:20:00Z')

interface Shown {
  readonly running: object
  readonly days: readonly DayCounts[]
  readonly latency: object
  readonly problems: readonly { code: string; subject: { id: string } | null; detail: string | null }[]
}

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open(), { wallMs: EVENING })
  const { send, clock, owner, deps, api } = calling
  const { db } = deps
  const agentId = await calling.publishAgent()
  const shown = async (key = api.testKey) =>
    dataOf(await send('GET', '/v1/overview', { key })) as unknown as Shown
  const place = async (last: number): Promise<string> => {
    const json = { to: `+9198765432${10 + last}`, numberId: calling.numberId }
    return String(dataOf(await send('POST', '/v1/calls', { json })).id)
  }
  const end = (id: string, cause: 'caller_hangup' | 'carrier_error') =>
    calling.emitCallEvent(id, {
      type: 'ended',
      ending: { by: 'callee', cause, fault: cause === 'carrier_error' ? 'carrier' : 'none' },
      ...{ rtp: null, recording: null },
    })
  const reply = (latencyMs: number) =>
    ({
      type: 'trace',
      trace: {
        ...{ turnId: 1, speechEndMs: 1_000, vadStopMs: null, sttFinalMs: null, decidedMs: 1_000 },
        ...{ modelFirstTokenMs: null, firstSentenceMs: null, ttsFirstAudioMs: null },
        firstPacketMs: 1_000 + latencyMs,
      },
    }) as const

  await t.test('the calls of each day in India, and their reply times', async (t) => {
    for (const [last, latencyMs] of [300, 500, 900].entries()) {
      // The third call belongs to the next day.
      if (last === 2) clock.advance(20 * 60_000)
      const id = await place(last)
      await calling.emitCallEvent(id, { type: 'answered' }, reply(latencyMs))
      t.match(await shown(), { running: { calls: 1 } })
      clock.advance(30_000)
      await end(id, 'caller_hangup')
    }
    const { days, latency, problems, running } = await shown()
    t.equal(days.length, 8)
    t.match(days.slice(-2), [
      { day: '2026-03-10', calls: 2, answered: 2, failed: 0, seconds: 60 },
      { day: '2026-03-11', calls: 1, answered: 1, failed: 0, seconds: 30 },
    ])
    t.same(days[0], { day: '2026-03-04', calls: 0, answered: 0, failed: 0, seconds: 0, billedPaise: 0 })
    t.match(latency, { calls: 3, turnP50Ms: 500, turnP95Ms: 900 })
    t.match(running, { calls: 0, campaigns: 0 })
    t.same(problems, [])
    t.match(await shown(api.liveKey), { latency: { calls: 0, turnP50Ms: null }, days: { 7: { calls: 0 } } })
  })

  await t.test('what is wrong, each with its remedy', async (t) => {
    for (let last = 20; last < 25; last++) await end(await place(last), 'carrier_error')
    await db
      .updateTable('numbers')
      .set({ inbound: 'error', inboundReason: 'The carrier refused the route.' })
      .where('id', '=', calling.numberId)
      .execute()
    const json = { name: 'Reminders', agentId, numberId: calling.numberId }
    const campaign = String(dataOf(await send('POST', '/v1/campaigns', { json })).id)
    const pause = (pausedReason: 'operator' | 'carrier_errors') =>
      db.updateTable('campaigns').set({ status: 'paused', pausedReason }).where('id', '=', campaign).execute()
    await pause('operator')
    await db
      .insertInto('webhookEndpoints')
      .values({
        ...{ id: 'whe_1', organizationId: owner.organizationId, url: 'https://hooks.example/a' },
        ...{ description: null, events: '[]', enabled: 0, consecutiveFailures: 40, failingSince: EVENING },
        ...{ disabledReason: 'consecutive_failures', disabledAt: EVENING, secret: '' },
        ...{ previousSecret: null, previousValidUntil: null, createdAt: EVENING, deletedAt: null },
      })
      .execute()
    const codes = async () => (await shown()).problems.map(({ code }) => code)
    t.same(await codes(), ['calls_failing', 'number_not_reachable', 'endpoint_disabled'])
    await pause('carrier_errors')
    const { problems } = await shown()
    t.match(problems, [
      {
        ...{ code: 'calls_failing', subject: null, detail: '5 of 6 calls of today failed.' },
        ...{ reason: null, counts: { failed: 5, calls: 6 } },
      },
      { code: 'number_not_reachable', subject: { type: 'number', id: calling.numberId } },
      {
        ...{ code: 'campaign_paused', subject: { id: campaign, label: 'Reminders' } },
        ...{ detail: 'carrier_errors', reason: 'carrier_errors', counts: {} },
      },
      {
        ...{ code: 'endpoint_disabled', subject: { id: 'whe_1' }, detail: '40 attempts failed in a row.' },
        ...{ reason: null, counts: { attempts: 40 } },
      },
    ])
    const live = (await shown(api.liveKey)).problems.map(({ code }) => code)
    t.same(live, ['wallet_low', 'endpoint_disabled'], 'of the other environment only what both share')
    const other = await calling.anotherOrganization()
    t.same((await shown(other.testKey)).problems, [])
  })
  await calling.close()
})
