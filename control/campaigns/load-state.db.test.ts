import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { queryPlans } from '../../fixtures/database/query-plans.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import { newId } from '../../media/base/ids.js'
import { SLOT_LIFE_MS, takeTrunkChannel } from '../calls/placement/call-slots.js'
import type { NumberRow } from '../db/tables/calling.js'
import { routeOf, slowRoute, takeRouteTurn } from '../recipients/route-pace.js'
import { nextCallbacks } from './callbacks/store.js'
import { loadState } from './load-state.js'
import { routeState } from './route-state.js'

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

await onEachDialect(t, async (t, open) => {
  await t.test('two organizations share the lines and the pace of the trunk of a carrier', async (t) => {
    const { calling, owner } = await openLiveCalling(await open(), { agentCalls: 4, callsPerMinute: 60 })
    t.teardown(() => calling.close())
    const { clock, deps } = calling
    const { db } = deps
    await db.updateTable('sipTrunks').set({ carrier: 'vobiz' }).execute()
    const trunk = await db.selectFrom('sipTrunks').selectAll().executeTakeFirstOrThrow()
    const bought = { provider: 'vobiz', sipTrunkId: null }
    await db.updateTable('numbers').set(bought).where('environment', '=', 'live').execute()
    const number = await db
      .selectFrom('numbers')
      .selectAll()
      .where('environment', '=', 'live')
      .executeTakeFirstOrThrow()
    t.equal(trunk.organizationId, owner.organizationId)
    const { organizationId } = await calling.anotherOrganization()
    const now = clock.wall()
    const other = {
      ...number,
      id: newId('num', now),
      organizationId,
      e164: '+911171366999',
    }
    await db.insertInto('numbers').values(other).execute()

    t.match(await routeState(db, other, trunk, now), { freeLines: 4, rate: 1, nextDialAt: 0 })
    for (const callId of ['call_1', 'call_2']) {
      t.equal(await takeTrunkChannel(db, trunk, { callId, nodeId: 'node' }, now), null)
    }
    const turn = (of: NumberRow) =>
      db.transaction().execute((trx) => takeRouteTurn(trx, routeOf(of, trunk), now + 1_000, now))
    t.equal(await turn(number), true)
    t.equal(await turn(other), false, 'the turn is taken')
    await db.transaction().execute((trx) => slowRoute(trx, routeOf(other, trunk), now, now))
    for (const one of [number, other]) {
      const state = { freeLines: 2, rate: 0.5, nextDialAt: now + 1_000, intervalMs: 1_000 }
      t.same(await routeState(db, one, trunk, now), state)
    }
    const later = now + SLOT_LIFE_MS
    t.match(await routeState(db, other, trunk, later), { freeLines: 4 }, 'stale channels are free')
  })
})
