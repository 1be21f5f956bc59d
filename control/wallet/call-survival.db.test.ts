import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { surviveCommits } from '../../fixtures/wallet/call-survival.js'

await onEachDialect(t, async (t, open) => {
  await t.test('processes that die in the middle of a call: each paisa is accounted for', async (t) => {
    await surviveCommits(t, await open())
  })
})
