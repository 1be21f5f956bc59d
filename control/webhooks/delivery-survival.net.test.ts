import t from 'tap'
import { survive, twoProcesses } from '../../fixtures/api/webhook-survival.js'
import { startPostgres } from '../../fixtures/database/postgres.js'

const postgres = await startPostgres()
t.teardown(() => postgres.stop())

t.test('160 events, kill -9 in between: every one arrives, none is lost', async (t) => {
  await survive(t, postgres, { queued: 100, made: 60, kills: 1 })
})

t.test('two live processes on one database never send the same twice', async (t) => {
  await twoProcesses(t, postgres, 100)
})
