import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { openSmallDisk } from '../../../fixtures/database/sqlite-faults.js'
import { faultEachStatement, LOCK_FAULTS } from '../../../fixtures/faults/each-statement.js'
import { openOnDisk, openOverRelay } from '../../../fixtures/faults/faulty-service.js'

/*
 * As the test of the same name, with a fault at each statement. PARLEY_EVERY_FAULT=1 has each fault at each of them.
 */

const CHOICE = { stride: 1, everyFault: process.env.PARLEY_EVERY_FAULT === '1' }
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

/** A lock takes five seconds and more for each fault, so that a few kinds of requests stand for all. */
const UNDER_LOCK =
  /^(placing a call|launching a campaign|recording a consent|adding recipients as JSON|a request to say)$/
const LOCK_CHOICE = { stride: 6, everyFault: false }

const lockable = openSmallDisk(24 * 2 ** 20)
t.test('SQLite, locked', { skip: lockable === null && 'mounting is not allowed here' }, async (t) => {
  if (lockable === null) return
  const place = await openOnDisk(lockable, LOCK_FAULTS)
  for (const scenario of place.scenarios.filter(({ name }) => UNDER_LOCK.test(name) && chosen.test(name))) {
    await t.test(scenario.name, (t) => faultEachStatement(t, place.database, scenario, LOCK_CHOICE))
  }
  await place.close()
  lockable.close()
})
