import t from 'tap'
import { dataOf } from '../../fixtures/api/calling.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { checkInvariants } from '../../fixtures/virtual-call/campaign-invariants.js'
import { runCampaigns } from '../../fixtures/virtual-call/campaign-run.js'
import { openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import { silentLog } from '../../media/base/log.js'
import type { Behaviour } from '../../signalling/sandbox/personas.js'
import { readWallet } from '../wallet/store.js'
import { checkWallets } from '../wallet/wallet-check.js'

/** People of the campaign; PARLEY_CAMPAIGN_RECIPIENTS=100000 is the full run. */
const SIZE = Number(process.env.PARLEY_CAMPAIGN_RECIPIENTS ?? 200)
const KILLS = 200
const CHANGES = 20
const ATTEMPTS = 3
/** On average, with retries. */
const DIALS_OF_A_PERSON = 1.9

const FUNDS_PAISE = SIZE * 5_000

const OUTCOMES: readonly Behaviour[] = [
  ...Array.from({ length: 5 }, (): Behaviour => ({ kind: 'refuse', status: 486 })),
  { kind: 'refuse', status: 503 },
  ...Array.from({ length: 4 }, (): Behaviour => ({ kind: 'ring' })),
  ...Array.from({ length: 7 }, (): Behaviour => ({ kind: 'answer', persona: 'polite' })),
  { kind: 'answer', persona: 'voicemail' },
  { kind: 'answer', persona: 'no_more_calls' },
  { kind: 'answer', persona: 'media_dies' },
]

/** What happens at a number at a time: another outcome with each attempt. */
function outcomeOf(number: string, at: number): Behaviour {
  const mixed = Math.imul(Number(number.slice(-9)) ^ Math.floor(at / 1_000), 0x9e3779b1) >>> 8
  return OUTCOMES[mixed % OUTCOMES.length] ?? { kind: 'ring' }
}

await t.test(
  `${SIZE} people in at least three days, ${KILLS} deaths and ${CHANGES} deployments`,
  async (t) => {
    const database = await openMigratedSqlite()
    t.teardown(() => database.close())
    const { calling, owner, numberId, agentId, key } = await openLiveCalling(database, {
      agentCalls: 300,
      fundsPaise: FUNDS_PAISE,
    })
    t.teardown(() => calling.close())
    const { deps, clock } = calling
    const { db } = database
    const minutes = Math.min(660, Math.max(30, Math.ceil((SIZE * DIALS_OF_A_PERSON) / 2 / 120)))
    const settings = {
      ...{ name: 'Three days', agentId, numberId },
      // Less than half of the dials fits into a day, because the 503 slow them down.
      schedule: { windowStartMinute: 600, windowEndMinute: 600 + minutes },
      pacing: { callsPerMinute: Math.ceil((SIZE * DIALS_OF_A_PERSON) / 2 / minutes), maxConcurrent: 200 },
      retries: {
        attempts: ATTEMPTS,
        intervalMinutes: 5,
        on: ['no_answer', 'busy', 'failed', 'unknown'],
      },
    }
    const id = String(dataOf(await calling.send('POST', '/v1/campaigns', { json: settings, key })).id)
    const csv = Array.from({ length: SIZE }, (_, i) => `+9198${String(i).padStart(8, '0')}`)
    const imported = await fetch(`${calling.api.url}/v1/campaigns/${id}/recipients/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body: `phone\n${csv.join('\n')}\n`,
    })
    t.match(await imported.json(), { data: { imported: SIZE } })
    const launch = { json: {}, key, headers: { 'idempotency-key': 'launch' } }
    const launched = await calling.send('POST', `/v1/campaigns/${id}/launch`, launch)
    t.equal(launched.status, 200, JSON.stringify(launched.body))

    const run = await runCampaigns(database, deps, clock, {
      processes: 2,
      hours: 235,
      kills: KILLS,
      changes: { count: CHANGES, everyDials: Math.floor(SIZE / CHANGES) },
      dialsOfADeath: Math.floor(SIZE / KILLS),
      behaviour: outcomeOf,
    })
    t.ok(run.kills >= KILLS, `${run.kills} deaths`)
    t.equal(run.changes, CHANGES)
    await checkInvariants(t, database, run, ATTEMPTS)
    const days = new Set(run.dials.map(({ at }) => new Date(at + 330 * 60_000).toISOString().slice(0, 10)))
    t.ok(days.size >= 3, `dials on ${days.size} days`)

    const { spentPaise } = await db.selectFrom('campaigns').selectAll().executeTakeFirstOrThrow()
    const wallet = await readWallet(db, owner.organizationId, clock.wall())
    t.ok(spentPaise > 0)
    t.match(wallet, { balancePaise: FUNDS_PAISE - spentPaise, heldPaise: 0 }, 'spend equals the ledger')
    t.same(await checkWallets({ db, reads: database.reads, clock, log: silentLog }), [])
    t.comment(`${run.dials.length} dials, ${run.kills} deaths, at most ${run.mostAtOnce} calls at once`)
  },
)
