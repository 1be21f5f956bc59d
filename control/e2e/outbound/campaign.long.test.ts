import t, { type Test } from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { type Json, openService } from '../../../fixtures/service/service.js'

/* A campaign of real calls: SIP and RTP to the simulated persons, each of which is one of sixty recipients. */

const PEOPLE = 60
/** Virtual time until the last retry has ended (ms). */
const LONG_WAIT_MS = 4 * 3_600_000
const LOOK_MS = 5_000

/** Recipients that are not called, with the reason. */
const SUPPRESSED = '+919810000001'
const NAMELESS = '+919810000002'

const EXCLUDED: Readonly<Record<string, Json>> = {
  [SUPPRESSED]: { outcome: 'excluded', attempts: 0, excludedReason: 'suppressed' },
  [NAMELESS]: { outcome: 'excluded', attempts: 0, excludedReason: 'missing_variables' },
}
/** The persons of the sandbox table that are not answered at the first dial. */
const OTHERWISE: Readonly<Record<string, Json>> = {
  '+919000000002': { outcome: 'busy', attempts: 2, excludedReason: null },
  '+919000000003': { outcome: 'no_answer', attempts: 2, excludedReason: null },
  '+919000000004': { outcome: 'voicemail', attempts: 1, excludedReason: null },
  '+919000000005': { outcome: 'failed', attempts: 2, excludedReason: null },
}

async function runCampaign(t: Test, env: Readonly<Record<string, string>>): Promise<void> {
  const service = await openService(t, { virtual: true, mediaTimeoutMs: 2_000, agentCalls: 12, env })
  const { api, clock, numberId } = service
  const agentId = await service.publishAgent({
    name: 'Reminders',
    inputVariables: [{ name: 'name', required: true }],
    callSettings: {
      maxCallSeconds: 30,
      openingLine: { text: 'Hello {{name}}, this is Smile Dental Clinic.' },
      nudges: {
        enabled: true,
        hangupAfter: true,
        steps: [
          { afterSeconds: 1, line: { text: 'Are you there?' } },
          { afterSeconds: 1, line: { text: 'Hello?' } },
        ],
      },
    },
  })
  await api('POST', '/v1/dnc', { e164: SUPPRESSED, reason: 'Asked by e-mail' })
  const campaign = await api('POST', '/v1/campaigns', {
    ...{ name: 'Everybody', agentId, numberId },
    schedule: { windowStartMinute: 0, windowEndMinute: 1_440 },
    pacing: { callsPerMinute: 120, maxConcurrent: 12 },
    retries: { attempts: 2, intervalMinutes: 5, on: ['no_answer', 'busy', 'failed'] },
  })
  const persons = Array.from({ length: 13 }, (_, i) => `+9190000000${String(i + 1).padStart(2, '0')}`)
  const polite = Array.from({ length: PEOPLE - 15 }, (_, i) => `+9198200000${String(i).padStart(2, '0')}`)
  const recipients = [...persons, ...polite, SUPPRESSED]
    .map((e164): Json => ({ e164, variables: { name: 'Asha' } }))
    .concat({ e164: NAMELESS })
  const added = await api('POST', `/v1/campaigns/${campaign.id}/recipients`, { recipients })
  t.match(added, { imported: PEOPLE, rejected: [] })
  await service.send('POST', `/v1/campaigns/${campaign.id}/launch`, {}, { 'idempotency-key': 'launch' })
  const lateAt = clock.now() + LONG_WAIT_MS
  for (;;) {
    const { status, progress } = await api('GET', `/v1/campaigns/${campaign.id}`)
    if (status === 'completed') break
    if (clock.now() > lateAt) throw new Error(`the campaign is ${status}: ${JSON.stringify(progress)}`)
    await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve))
  }
  const listed = await service.send('GET', `/v1/campaigns/${campaign.id}/recipients?limit=100`)
  const all = listed.body.data as Json[]
  for (const { e164, status, outcome, attempts, excludedReason } of all) {
    const expected = EXCLUDED[String(e164)] ??
      OTHERWISE[String(e164)] ?? { outcome: 'answered', attempts: 1, excludedReason: null }
    t.match({ status, outcome, attempts, excludedReason }, { status: 'settled', ...expected }, String(e164))
  }
  const outcomes = await api('GET', `/v1/campaigns/${campaign.id}/outcomes`)
  t.match(outcomes, {
    byDisposition: { answered: 54, busy: 1, failed: 1, no_answer: 1, voicemail: 1 },
    byExcludedReason: { missing_variables: 1, suppressed: 1 },
    attemptsHistogram: { 0: 2, 1: 55, 2: 3 },
    lateAgentSound: 0,
  })
  const calls = (await service.send('GET', `/v1/calls?campaignId=${campaign.id}&limit=100`)).body
    .data as Json[]
  t.equal(calls.length, 61, 'one call for each attempt')
  const spent = calls.reduce((sum, { billedPaise }) => sum + Number(billedPaise), 0)
  t.equal(outcomes.spentPaise, spent)
  const progress = { total: PEOPLE, dialed: 58, connected: 55, excluded: 2, settled: PEOPLE }
  t.match(await api('GET', `/v1/campaigns/${campaign.id}`), { status: 'completed', progress })
  const events = (await service.send('GET', '/v1/events?type=campaign.completed')).body.data as Json[]
  t.equal(events.length, 1)
}

await t.test('sixty people on SQLite', { timeout: 600_000 }, (t) => runCampaign(t, {}))
await t.test('sixty people on PostgreSQL', { timeout: 600_000 }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  await runCampaign(t, { PARLEY_DATABASE_URL: await postgres.createDatabase() })
})
