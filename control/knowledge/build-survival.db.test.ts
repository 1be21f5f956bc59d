import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { surviveBuildCommits } from '../../fixtures/knowledge/build-survival.js'
import { FolderStore } from '../objects/folder-store.js'

/** Every so many commits and objects a process dies. */
const EVERY = 4

await onEachDialect(t, async (t, open) => {
  await t.test(
    'processes that die while documents arrive and are built: nothing half, nothing left',
    async (t) => {
      await surviveBuildCommits(t, await open(), new FolderStore(t.testdir()), EVERY)
    },
  )
})
