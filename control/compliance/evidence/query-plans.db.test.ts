import t from 'tap'
import { onEachSharedDialect } from '../../../fixtures/database/databases.js'
import { queryPlans } from '../../../fixtures/database/query-plans.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'
import { listPersonConsents, listPersonEvidence, listPersonSuppressions } from './read.js'

await onEachSharedDialect(t, async (t, make, dialect) => {
  const database = openDatabase(await make(), silentLog)
  t.teardown(() => database.close())

  // PostgreSQL collects statistics by itself. SQLite has none, since the service collects none.
  await t.test(
    'the history of a number is read by its number, also before there are statistics',
    async (t) => {
      if (dialect !== 'sqlite') return
      const owner = { organizationId: 'org_1', environment: 'live' } as const
      const plans = await queryPlans(database, async (db) => {
        await listPersonConsents(db, owner, '+919810000001', 100)
        await listPersonSuppressions(db, owner, ['+919810000001', 'digest'], 100)
        await listPersonEvidence(db, owner, '+919810000001', 100)
      })
      t.equal(plans.length, 3)
      for (const { steps } of plans) t.match(steps[0], /\(organizationId=\? AND environment=\? AND e164=\?\)/)
    },
  )
})
