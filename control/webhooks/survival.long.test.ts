import t from 'tap'
import { survive, twoProcesses } from '../../fixtures/webhook-survival.js'

t.test('10,000 events, kill -9 in between: every one arrives, none is lost', async (t) => {
  await survive(t, { events: 10_000, kills: 12 })
})

t.test('two live processes on one database never send the same twice', async (t) => {
  await twoProcesses(t, 5_000)
})
