import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { queryPlans } from '../../fixtures/database/query-plans.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { nextCallbacks } from './callbacks/store.js'
import { loadState } from './load-state.js'

t.test('a look at the campaigns reads only recipients that wait or are under way', async (t) => {
  const database = await openMigratedSqlite()
  t.teardown(() => database.close())
  const calling = await openTestCalling(database)
  t.teardown(() => calling.close())
  const { deps, clock, owner, numberId } = calling
  const json = { name: 'Reminders', agentId: await calling.publishAgent(), numberId }
  const id = String(dataOf(await calling.send('POST', '/v1/campaigns', { json })).id)
  const recipients = [{ e164: '+919810000001' }]
  await calling.send('POST', `/v1/campaigns/${id}/recipients`, { json: { recipients } })
  const headers = { 'idempotency-key': 'launch' }
  const launched = await calling.send('POST', `/v1/campaigns/${id}/launch`, { json: {}, headers })
  t.equal(launched.status, 200)
  const plans = await queryPlans(database, async (db) => {
    t.not(await loadState({ ...deps, db }, owner, clock.wall()), null)
    await nextCallbacks(db, owner, 1)
  })
  const stepsOf = (table: string) =>
    plans.flatMap(({ sql, steps }) =>
      steps.filter((step) => sql.includes(`from "${table}"`) && step.includes(table)),
    )
  t.equal(stepsOf('campaignRecipients').length, 2)
  for (const step of stepsOf('campaignRecipients')) {
    t.match(step, /USING (COVERING )?INDEX campaignRecipients(Due|Busy) /)
  }
  t.match(stepsOf('callbacks'), [/USING INDEX callbacksPerson /])
})
