import { sql } from 'kysely'
import type { OpenDatabase } from '../../control/db/database.js'
import { holdForCall, settleCall } from '../../control/wallet/call-billing.js'
import { listEntries, readWallet } from '../../control/wallet/store.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { systemClock } from '../../media/base/clock.js'
import { newId } from '../../media/base/ids.js'
import { onBothDatabases, settle } from '../lib/both-databases.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { judgedTimes, type Timed } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'

const AT = 1_760_000_000_000
/** Calls that use one wallet at the same time. */
const CALLS = 200
const ROUNDS = 10
const ENTRIES = 1_000_000
const PAGES = 400
const PAGE_SIZE = 100

/**
 * Measures calls of one wallet per second: 200 at a time, each of which holds twelve rupees in one transaction and
 * replaces the hold by its charge in another. PostgreSQL commits without waiting for its disk, SQLite waits for it.
 */
export function measureWallet(probe: Probe): Promise<Measured[]> {
  return onBothDatabases(async (database, suffix) => {
    const { db } = database
    const organizationId = await organization(database)
    await addFunds(db, organizationId, CALLS * ROUNDS * 1_200, AT)
    await probe.begin()
    const startedAt = systemClock.now()
    await Promise.all(
      Array.from({ length: CALLS }, async (_, lane) => {
        for (let round = 0; round < ROUNDS; round++) {
          const call = {
            id: `call_${lane}_${round}`,
            organizationId,
            environment: 'live',
            agentId: null,
            answeredAt: AT,
          } as const
          const held = await db.transaction().execute((trx) => holdForCall(trx, call, AT))
          if (!held) throw new Error('the wallet does not cover a call')
          const charge = { kind: 'agent', seconds: 60, ratePaisePerMinute: 500, amountPaise: 500 } as const
          await db.transaction().execute((trx) => settleCall(trx, call, [charge], AT))
        }
      }),
    )
    const seconds = (systemClock.now() - startedAt) / 1000
    await probe.judge()
    const { balancePaise, heldPaise } = await readWallet(db, organizationId, AT)
    if (balancePaise !== CALLS * ROUNDS * 700 || heldPaise !== 0) throw new Error('money was lost')
    const value = rounded((CALLS * ROUNDS) / seconds)
    return [figure(`A_wallet${suffix}`, { value, n: CALLS * ROUNDS }, { callsAtOnce: CALLS })]
  })
}

/** Measures a page of 100 entries of a ledger of 1,000,000 entries: the newest, and those at any other place. */
export function measureLedgerPage(probe: Probe): Promise<Measured[]> {
  return onBothDatabases(async (database, suffix) => {
    const organizationId = await organization(database)
    // The first entry also makes the wallet, without which SQLite would search all entries at each insert.
    await addFunds(database.db, organizationId, 1, AT)
    await fillLedger(database, organizationId)
    const page = async (index: number): Promise<number> => {
      const after = index % 2 === 0 ? null : { key: String(1 + ((index * 7919) % ENTRIES)), id: '' }
      const startedAt = systemClock.now()
      const { items } = await listEntries(database.reads, organizationId, { limit: PAGE_SIZE, after })
      if (items.length === 0) throw new Error('the page is empty')
      return systemClock.now() - startedAt
    }
    for (let i = 0; i < 20; i++) await page(i)
    const read: Timed[] = []
    await probe.begin()
    for (let i = 0; i < PAGES; i++) read.push({ atMs: systemClock.now(), ms: await page(i) })
    const { late } = await probe.judge()
    const times = judgedTimes(late, read)
    const values = {
      p50: rounded(percentile(times, 0.5)),
      p99: rounded(percentile(times, 0.99)),
      max: rounded(maximum(times)),
      n: times.length,
    }
    return [figure(`A_ledger${suffix}`, values, { rows: ENTRIES, pageSize: PAGE_SIZE })]
  })
}

async function organization({ db }: OpenDatabase): Promise<string> {
  const id = newId('org', AT)
  const row = { id, name: 'Bench', senderClassification: null, createdAt: AT }
  await db.insertInto('organizations').values(row).execute()
  return id
}

/** Inserts entries of one paisa each after the first one, in one statement. */
async function fillLedger(database: OpenDatabase, organizationId: string): Promise<void> {
  const { db, dialect } = database
  const numbers =
    dialect === 'sqlite'
      ? sql`(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(ENTRIES - 1)}) select i from n)`
      : sql`(select generate_series(1, ${sql.lit(ENTRIES - 1)}) as i)`
  await sql`insert into "ledgerEntries" ("id", "organizationId", "seq", "type", "category", "amountPaise",
      "balanceAfterPaise", "description", "referenceType", "referenceId", "agentId", "reversesEntryId", "invoiceId",
      "cause", "countsAt", "createdAt")
    select 'led_' || i, ${organizationId}, i + 1, 'call', 'calls', 1, i + 1, 'Call, agent: 60 s at 500 paise a minute', 'call',
      'call_' || i, null, null, null, 'call:' || i || ':agent', ${sql.lit(AT)} + i, ${sql.lit(AT)} + i from ${numbers} as numbers`.execute(
    db,
  )
  await settle(database)
}
