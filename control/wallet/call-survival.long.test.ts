import t from 'tap'
import { onEachSharedDialect } from '../../fixtures/database/databases.js'
import { surviveKills } from '../../fixtures/wallet/call-survival.js'

await onEachSharedDialect(t, async (t, make) => {
  await t.test('kill -9 before and after each commit of a call: each paisa is accounted for', async (t) => {
    await surviveKills(t, await make())
  })
})
