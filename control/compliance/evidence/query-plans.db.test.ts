import t from 'tap'
import { onEachSharedDialect } from '../../../fixtures/database/databases.js'
import { queryPlans } from '../../../fixtures/database/query-plans.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'
import { listChecks, listPersonChecks } from '../check-store.js'
import { listConsents } from '../consent-store.js'
import { listSuppressions } from '../suppression-store.js'
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
        await listPersonChecks(db, owner, '+919810000001', 100)
        for (const after of [null, { key: 1, id: 'con_1' }]) {
          const page = { limit: 20, after }
          const consents = { e164: '+919810000001', purpose: undefined, active: true }
          await listConsents(db, owner, consents, page, 1)
          const listed = { names: ['+919810000001', 'digest'], source: undefined, active: true }
          await listSuppressions(db, owner, listed, page, 1)
          await listChecks(db, owner, { e164: '+919810000001', from: null, to: null }, page)
        }
      })
      // The four histories, two pages of each of the three lists, and the count of one with the statement within it.
      t.equal(plans.length, 12)
      for (const { steps } of plans) {
        const search = steps.find((step) => step.startsWith('SEARCH'))
        t.match(search, /\(organizationId=\? AND environment=\? AND e164=\?\)/)
      }
    },
  )

  await t.test('the checks of a call are read by the call, also before there are statistics', async (t) => {
    if (dialect !== 'sqlite') return
    const owner = { organizationId: 'org_1', environment: 'live' } as const
    const plans = await queryPlans(database, async (db) => {
      for (const after of [null, { key: 1, id: 'chk_1' }]) {
        await listChecks(db, owner, { callId: 'call_1', from: null, to: null }, { limit: 20, after })
      }
    })
    // Two pages, and the count of the first one with the statement within it.
    t.equal(plans.length, 4)
    for (const { steps } of plans) {
      const search = steps.find((step) => step.startsWith('SEARCH'))
      t.match(search, /INDEX checksOfCall \(organizationId=\? AND environment=\? AND callId=\?\)/)
    }
  })
})
