import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { openPostgresProxy } from '../../../fixtures/database/postgres-proxy.js'
import { makeSqliteImage } from '../../../fixtures/database/sqlite-image.js'
import { type PlannedFault, runThroughFaults } from '../../../fixtures/faults/campaign-chaos.js'
import { openLiveCalling } from '../../../fixtures/virtual-call/live-calling.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'
import { migrate } from '../../db/migrate.js'

/*
 * Campaigns of live calls, two processes, random faults of the database, and processes that die. PARLEY_CHAOS_CALLS=1000 is the
 * full size, PARLEY_CHAOS_SEED another plan of faults, PARLEY_CHAOS_DATABASE=sqlite or postgres one database only.
 */

const recipients = Number(process.env.PARLEY_CHAOS_CALLS ?? 15)
const seed = Number(process.env.PARLEY_CHAOS_SEED ?? 1)
/** Without deaths every event must arrive; with them everything else must hold. */
const KILLS = [0, Math.ceil(recipients / 20)]

const plans: fc.Arbitrary<PlannedFault[]> = fc.array(
  fc.record({ kind: fc.nat(11), after: fc.nat(60), looks: fc.nat(3), rest: fc.nat(8) }),
  { minLength: 5, maxLength: 30 },
)

/** One fault after the other, so that hardly anything is stored until they end. */
const WITHOUT_REST: readonly PlannedFault[] = Array.from({ length: 24 }, (_, i) => ({
  ...{ kind: i % 12, after: (i * 7) % 61, looks: i % 4, rest: 0 },
}))

for (const dialect of ['sqlite', 'postgres'] as const) {
  if (!dialect.startsWith(process.env.PARLEY_CHAOS_DATABASE ?? '')) continue
  t.test(`${dialect}, seed ${seed}`, async (t) => {
    const postgres = dialect === 'postgres' ? await startPostgres() : null
    t.testdir()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const kills = KILLS[runs++ % KILLS.length] ?? 0
        const file = join(t.testdirName, `${runs}.db`)
        const url = (await postgres?.createDatabase({ migrated: true })) ?? `sqlite:${file}`
        if (postgres === null) await makeSqliteImage(file)
        const proxy = postgres === null ? null : await openPostgresProxy(url)
        const observed = openDatabase(url, silentLog)
        await migrate(observed)
        const database = openDatabase(proxy?.url ?? url, silentLog)
        const live = await openLiveCalling(database, { agentCalls: 50, fundsPaise: recipients * 10_000 })
        try {
          const report = await runThroughFaults(live, database, observed, {
            ...{ proxy, recipients, kills, seed, plan },
          })
          t.comment(JSON.stringify(report))
          if (report.broken.length > 0) throw new Error(report.broken.join('\n'))
          t.ok(report.faults > 0, `${report.faults} faults`)
          t.ok(kills === 0 || report.kills > 0, `${report.kills} deaths`)
        } finally {
          await live.calling.close()
          await database.close()
          await observed.close()
          await proxy?.close()
        }
      }),
      { numRuns: KILLS.length + 1, examples: [[[...WITHOUT_REST]]], seed, endOnFailure: true },
    )
    await postgres?.stop()
  })
}
