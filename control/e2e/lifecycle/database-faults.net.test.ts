import t from 'tap'
import { onEachSharedDialect } from '../../../fixtures/database/databases.js'
import { faultEachPage, faultEachStatement } from '../../../fixtures/faults/each-statement.js'
import { openFaultyService } from '../../../fixtures/faults/faulty-service.js'

/*
 * Each kind of transaction under a fault at each of its statements: broken connections and outages of PostgreSQL, and a full
 * SQLite database. The long test of the same name has every fault at every statement.
 */

await onEachSharedDialect(t, async (t, make, dialect) => {
  const place = await openFaultyService(await make(), dialect)
  const only = process.env.PARLEY_FAULTS === undefined ? null : new RegExp(process.env.PARLEY_FAULTS)
  for (const scenario of place.scenarios) {
    if (only !== null && !only.test(scenario.name)) continue
    await t.test(scenario.name, async (t) => {
      if (dialect === 'postgres') await faultEachStatement(t, place, scenario)
      else await faultEachPage(t, place, scenario)
    })
  }
  await place.close()
})
