import t from 'tap'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { matching, openPostgresProxy } from '../../fixtures/database/postgres-proxy.js'
import { silentLog } from '../../media/base/log.js'
import { openDatabase } from './database.js'
import { retryTransaction } from './retry-transaction.js'
import { isTransient } from './transient-error.js'

const NOTHING = { senderClassification: null, createdAt: 0 }

t.test('a transaction is repeated after a broken connection, but not after a lost commit', async (t) => {
  const postgres = await startPostgres()
  const proxy = await openPostgresProxy(await postgres.createDatabase({ migrated: true }))
  const database = openDatabase(proxy.url, silentLog)
  t.teardown(async () => {
    await database.close()
    await proxy.close()
    await postgres.stop()
  })
  const { db } = database
  let runs = 0
  const add = (name: string) =>
    retryTransaction(db, async (trx) => {
      runs++
      const row = { id: `org_${name}_${runs}`, name, ...NOTHING }
      await trx.insertInto('organizations').values(row).execute()
      return runs
    })
  const count = async (name: string) =>
    (await db.selectFrom('organizations').select('id').where('name', '=', name).execute()).length

  proxy.arm({ kind: 'reset', when: 'after', at: matching(/^insert into "organizations"/) })
  t.equal(await add('insert'), 2, 'the first connection broke before its commit')
  await proxy.heal()
  t.equal(await count('insert'), 1)

  runs = 0
  proxy.arm({ kind: 'close', when: 'after', at: matching(/^commit$/) })
  const failed = await add('commit').catch((error: unknown) => error)
  t.equal(isTransient(failed), true)
  t.equal(runs, 1)
  await proxy.heal()
  t.equal(await count('commit'), 1, 'the transaction took effect, once')
})
