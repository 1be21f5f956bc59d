import t from 'tap'
import { survive, twoProcesses } from '../../fixtures/webhook-survival.js'

t.test('300 events, kill -9 in between: every one arrives, none is lost', async (t) => {
  await survive(t, { events: 300, kills: 2 })
})

t.test('two live processes on one database never send the same twice', async (t) => {
  await twoProcesses(t, 300)
})
