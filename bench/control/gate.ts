import { type RawBuilder, sql } from 'kysely'
import type { GateRequest } from '../../control/compliance/check.js'
import { clearDial } from '../../control/compliance/clearance.js'
import { gateFacts } from '../../control/compliance/facts.js'
import { decide } from '../../control/compliance/gate.js'
import type { OpenDatabase } from '../../control/db/database.js'
import { openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { systemClock } from '../../media/base/clock.js'
import { newId } from '../../media/base/ids.js'
import { onBothDatabases, settle } from '../lib/both-databases.js'
import { figure, type Measured, part } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { judgedTimes, type Timed } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'

/** Rows of the do-not-call list, and of consents. PARLEY_GATE_ROWS is for a trial of the bench itself. */
const ROWS = Number(process.env.PARLEY_GATE_ROWS ?? 1_000_000)
const DECISIONS = 4_000
const DIALS = 500
const BULKS = 20
const BULK_ROWS = 1_000
const READS = 200
const CHECKS = 500
const WARM_UP = 100
const FROM = '+918041234567'
/** Noon in India. */
const AT = Date.parse('2026-03-02T06:30:00Z')

/**
 * Measures beside 1,000,000 do-not-call entries and 1,000,000 consents: the decision on a live promotional call of a
 * campaign, from reading the facts to the verdict; the same with its rows and its sealed record; the upload of 1,000
 * consents; and the read of a number with 500 checks. Requests go over HTTP within this process, one at a time.
 */
export function measureGate(probe: Probe): Promise<Measured[]> {
  return onBothDatabases(async (database, suffix) => {
    const calling = await openTestCalling(database, { wallMs: AT })
    try {
      await fill(database, calling)
      await probe.begin()
      // Threads of V8 still compile the code of the gate meanwhile, and take the CPU from the process or from the database.
      const first = await repeated(DECISIONS, (n) => decideOnce(calling, n))
      const decisions = await repeated(DECISIONS, (n) => decideOnce(calling, n))
      const dials = await repeated(DIALS, (n) => dialOnce(calling, n))
      const bulks = await repeated(BULKS, (n) => uploadConsents(calling, n))
      const reads = await repeated(READS, () => readPerson(calling))
      const { late } = await probe.judge()
      const values = (times: readonly Timed[]) => {
        const judged = judgedTimes(late, times)
        return {
          p50: rounded(percentile(judged, 0.5)),
          p99: rounded(percentile(judged, 0.99)),
          max: rounded(maximum(judged)),
          n: judged.length,
        }
      }
      const rows = { suppressions: ROWS, consents: ROWS }
      const partSuffix = suffix === '' ? '' : '-postgres'
      return [
        figure(`A_gate${suffix}`, values(decisions), rows),
        part(`A_gate@first${partSuffix}`, values(first), rows),
        part(`A_gate@dial${partSuffix}`, values(dials), rows),
        figure(`A_consents${suffix}`, values(bulks), { ...rows, uploaded: BULK_ROWS }),
        figure(`A_person${suffix}`, values(reads), { ...rows, checks: CHECKS }),
      ]
    } finally {
      await calling.close()
    }
  })
}

async function repeated(times: number, run: (n: number) => Promise<void>): Promise<Timed[]> {
  const warmUp = Math.min(WARM_UP, Math.ceil(times / 4))
  for (let n = 0; n < warmUp; n++) await run(times + n)
  const timed: Timed[] = []
  for (let n = 0; n < times; n++) {
    const atMs = systemClock.now()
    await run(n)
    timed.push({ atMs, ms: systemClock.now() - atMs })
  }
  return timed
}

/** Returns the number of a person: every third one is listed, every third one has consented, the others are unknown. */
function personOf(n: number): string {
  const index = 1 + ((n * 7_919) % ROWS)
  return `+919${String((n % 3) * 100_000_000 + index).padStart(9, '0')}`
}

function requestOf(n: number): GateRequest {
  const campaign = { trigger: 'campaign', campaignId: 'cmp_bench', recipientId: 'rcp_bench' } as const
  return { to: personOf(n), environment: 'live', purpose: 'promotional', ...campaign }
}

async function decideOnce({ deps, owner }: TestCalling, n: number): Promise<void> {
  const gate = requestOf(n)
  const question = { organizationId: owner.organizationId, from: FROM, gate }
  const facts = await gateFacts(deps.db, deps, question, AT)
  const { checks } = decide(gate, facts, AT)
  const found = checks.find(({ type }) => type === (n % 3 === 1 ? 'consent' : 'dnc'))
  const expected = ['suppressed', 'explicit_consent', 'not_suppressed'][n % 3]
  if (found?.reason !== expected) throw new Error(`${gate.to} gave ${found?.reason}, not ${expected}`)
}

async function dialOnce({ deps, owner }: TestCalling, n: number): Promise<void> {
  const call = { callId: newId('call', AT), from: FROM, agentId: null, agentVersionId: null }
  const request = { organizationId: owner.organizationId, ...call, gate: requestOf(n) }
  await clearDial(deps, request, async () => {})
}

async function uploadConsents(calling: TestCalling, n: number): Promise<void> {
  const row = { purpose: 'service', kind: 'explicit', scope: 'Reminders', source: 'web_form' }
  const records = Array.from({ length: BULK_ROWS }, (_, index) => ({
    ...row,
    e164: `+919${String(300_000_000 + n * BULK_ROWS + index).padStart(9, '0')}`,
  }))
  const answer = await calling.send('POST', '/v1/consent/bulk', {
    json: { records },
    key: calling.api.liveKey,
  })
  const { data } = answer.body as { data: { imported?: number; rejected: readonly unknown[] } }
  if (answer.status !== 200 || data.rejected.length > 0)
    throw new Error(`the upload ended with ${answer.status}`)
}

const READ_PERSON = '+919876543210'

async function readPerson(calling: TestCalling): Promise<void> {
  const path = `/v1/compliance/evidence?e164=${encodeURIComponent(READ_PERSON)}`
  const { body, status } = await calling.send('GET', path, { key: calling.api.liveKey })
  const { data } = body as { data: { checks: readonly unknown[] } }
  if (status !== 200 || data.checks.length !== CHECKS) throw new Error(`the read ended with ${status}`)
}

async function fill(database: OpenDatabase, calling: TestCalling): Promise<void> {
  const { db, dialect } = database
  const { organizationId } = calling.owner
  await readyForLive(db, organizationId, [FROM], AT)
  await addFunds(db, organizationId, 100_000_000, AT)
  const numbers =
    dialect === 'sqlite'
      ? sql`(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(ROWS)}) select i from n)`
      : sql`(select generate_series(1, ${sql.lit(ROWS)}) as i)`
  const e164 = (first: string): RawBuilder<unknown> =>
    sql`${sql.lit(`+919${first}`)} || substr(cast(100000000 + i as text), 2)`
  await sql`insert into "suppressions" ("id", "organizationId", "environment", "e164", "source", "reason", "createdAt",
      "createdByType", "createdById")
    select 'dnc_' || i, ${organizationId}, 'live', ${e164('0')}, 'import', 'Uploaded', ${sql.lit(AT)} - i, 'key', 'key_bench'
    from ${numbers} as numbers`.execute(db)
  await sql`insert into "consents" ("id", "organizationId", "environment", "e164", "purpose", "kind", "scope", "source",
      "capturedAt", "createdAt", "createdByType", "createdById", "current")
    select 'con_' || i, ${organizationId}, 'live', ${e164('1')}, 'promotional', 'explicit', 'Offers', 'web_form',
      ${sql.lit(AT)} - i, ${sql.lit(AT)} - i, 'key', 'key_bench', 1 from ${numbers} as numbers`.execute(db)
  const gate = { to: READ_PERSON, environment: 'live', purpose: 'service', trigger: 'call' } as const
  for (let checks = 0; checks < CHECKS; checks += 11) {
    const call = { callId: newId('call', AT), from: FROM, agentId: null, agentVersionId: null }
    await clearDial(calling.deps, { organizationId, ...call, gate }, async () => {})
  }
  // With statistics SQLite plans the statement of the gate again for each run.
  await settle(database)
}
