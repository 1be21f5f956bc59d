import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { openSmallDisk } from '../../../fixtures/database/sqlite-faults.js'
import { faultEachStatement } from '../../../fixtures/faults/each-statement.js'
import { openOnDisk, openOverRelay } from '../../../fixtures/faults/faulty-service.js'

/*
 * Each kind of transaction under a fault at each of its statements: broken connections and outages of PostgreSQL, and a full
 * disk under SQLite. Here each fifth statement fails; in the long test of the same name each one.
 */

const CHOICE = { stride: 5, everyFault: false }
/** Names of the scenarios to run; all unless given. */
const chosen = new RegExp(process.env.PARLEY_FAULTS ?? '')

t.test('PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  const place = await openOverRelay(await postgres.createDatabase({ migrated: true }))
  for (const scenario of place.scenarios.filter(({ name }) => chosen.test(name))) {
    await t.test(scenario.name, (t) => faultEachStatement(t, place.database, scenario, CHOICE))
  }
  await place.close()
  await postgres.stop()
})

const disk = openSmallDisk(24 * 2 ** 20)
t.test('SQLite', { skip: disk === null && 'mounting is not allowed here' }, async (t) => {
  if (disk === null) return
  const place = await openOnDisk(disk)
  for (const scenario of place.scenarios.filter(({ name }) => chosen.test(name))) {
    await t.test(scenario.name, (t) => faultEachStatement(t, place.database, scenario, CHOICE))
  }
  await place.close()
  disk.close()
})
