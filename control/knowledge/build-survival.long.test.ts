import t from 'tap'
import { onEachDialect, onEachSharedDialect } from '../../fixtures/database/databases.js'
import { surviveBuildCommits, surviveBuildKills } from '../../fixtures/knowledge/build-survival.js'
import { openS3Server } from '../../fixtures/objects/s3-server.js'
import { silentLog } from '../../media/base/log.js'
import { S3Store } from '../objects/s3-store.js'

await onEachSharedDialect(t, async (t, make) => {
  await t.test('kill -9 at each commit and in each object of an upload and a build', async (t) => {
    await surviveBuildKills(t, await make())
  })
})

await onEachDialect(t, async (t, open) => {
  await t.test('the same deaths with an S3 store', async (t) => {
    const server = await openS3Server()
    const store = new S3Store(server.setting, silentLog)
    try {
      await surviveBuildCommits(t, await open(), store, 1)
      t.equal(await server.uploads(), 0, 'no part of an object is left')
    } finally {
      store.close()
      await server.close()
    }
  })
})
