import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { cheapPasswords } from '../../fixtures/api/cheap-passwords.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { bootstrap } from '../access/accounts/bootstrap.js'
import { rootKeyOf } from '../base/root-key.js'
import { type OpenDatabase, openDatabase } from '../db/database.js'
import { migrate } from '../db/migrate.js'
import { backUp, restore } from './backup.js'

const rootKey = rootKeyOf(Buffer.alloc(32, 1))
const KEEP = { sessions: false, keys: false }

async function filled(url: string): Promise<OpenDatabase> {
  const database = openDatabase(url, silentLog)
  await migrate(database)
  await bootstrap({ db: database.db, rootKey, clock: systemClock, passwords: cheapPasswords })
  return database
}

/** Returns every row of every table as text, except the migrator's lock. */
async function contents(url: string): Promise<string> {
  const database = openDatabase(url, silentLog)
  try {
    const tables = await database.db.introspection.getTables()
    const names = tables.map(({ name }) => name).sort()
    const rows = await Promise.all(
      names.map(async (name) => [
        name,
        await database.db
          .selectFrom(name as 'users')
          .selectAll()
          .execute(),
      ]),
    )
    return JSON.stringify(rows)
  } finally {
    await database.close()
  }
}

async function roundTrip(t: Test, from: string, to: string): Promise<void> {
  const folder = t.testdir({})
  const source = await filled(from)
  const file = join(folder, 'deep', 'backup')
  // The database is in use during the backup, as in production.
  const writer = source.db
    .insertInto('organizations')
    .values({ id: 'org_during', name: 'During', senderClassification: null, createdAt: 1 })
    .execute()
  const bytes = await backUp(from, file)
  await writer
  t.equal(bytes, statSync(file).size)
  t.equal(statSync(file).mode & 0o777, 0o600, 'for its owner only')
  await t.rejects(backUp(from, file), { code: 'config_invalid' }, 'no backup is overwritten')

  const before = await contents(from)
  const late = join(folder, 'late')
  await backUp(from, late)
  await restore(to, late, KEEP, 5)
  t.equal(await contents(to), before, 'everything is back')
  await t.rejects(
    restore(to, late, KEEP, 5),
    { code: 'config_invalid' },
    'nothing that exists is overwritten',
  )
  await source.close()
}

t.test('sessions, mailed links and keys that a restore ends', async (t) => {
  const folder = t.testdir({})
  const url = (name: string) => `sqlite:${join(folder, name)}`
  const source = await filled(url('a.db'))
  const { id: userId } = await source.db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  await source.db
    .insertInto('sessions')
    .values({ id: 'ses_1', userId, hash: 'h', createdAt: 1, lastSeenAt: 1, expiresAt: 9 })
    .execute()
  const link = { hash: 'm', kind: 'reset_password', subjectId: userId, expiresAt: 9, usedAt: null } as const
  await source.db.insertInto('mailTokens').values(link).execute()
  const file = join(folder, 'backup')
  await backUp(url('a.db'), file)
  await source.close()
  const left = async (name: string, revocation: typeof KEEP) => {
    await restore(url(name), file, revocation, 5)
    const { db, close } = openDatabase(url(name), silentLog)
    const sessions = await db.selectFrom('sessions').select('id').execute()
    const links = await db.selectFrom('mailTokens').select('hash').where('usedAt', 'is', null).execute()
    const keys = await db.selectFrom('apiKeys').select('id').where('revokedAt', 'is', null).execute()
    await close()
    return [sessions.length, links.length, keys.length]
  }
  const [, , keys = 0] = await left('kept.db', KEEP)
  t.ok(keys > 0)
  t.strictSame(await left('sessions.db', { sessions: true, keys: false }), [0, 0, keys])
  t.strictSame(await left('keys.db', { sessions: false, keys: true }), [1, 1, 0])
})

t.test('SQLite', async (t) => {
  const folder = t.testdir({})
  await roundTrip(t, `sqlite:${join(folder, 'a.db')}`, `sqlite:${join(folder, 'new', 'b.db')}`)
  const nonsense = join(folder, 'nonsense')
  writeFileSync(nonsense, 'not a database at all, but long enough to be read as one'.repeat(100))
  await t.rejects(restore(`sqlite:${join(folder, 'c.db')}`, nonsense, KEEP, 5), { code: 'config_invalid' })
  t.notOk(existsSync(join(folder, 'c.db')), 'and leaves nothing')
  await t.rejects(backUp(`sqlite:${join(folder, 'missing.db')}`, join(folder, 'x')), {
    code: 'config_invalid',
  })
  t.notOk(existsSync(join(folder, 'x')))
  await t.rejects(backUp('sqlite::memory:', join(folder, 'x')), { code: 'config_invalid' })
})

t.test('PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const from = await postgres.createDatabase()
  await roundTrip(t, from, await postgres.createDatabase())
  const folder = t.testdir({})
  const nonsense = join(folder, 'nonsense')
  writeFileSync(nonsense, 'nonsense')
  await t.rejects(restore(await postgres.createDatabase(), nonsense, KEEP, 5), { code: 'storage_failed' })
})

t.test('the commands', async (t) => {
  const folder = t.testdir({})
  const program = join(import.meta.dirname, '..', 'cli', 'main.js')
  const parley = (data: string, command: string, option?: string, name?: string, env = {}) =>
    promisify(execFile)(
      process.execPath,
      [program, command, ...[option, name].filter((text) => text !== undefined)],
      { cwd: folder, env: { PATH: process.env.PATH, PARLEY_DATA: data, ...env } },
    )
  const source = await filled(`sqlite:${join(folder, 'one', 'parley.db')}`)
  await source.close()
  const made = await parley('one', 'backup', '--to', 'copy.db')
  t.match(made.stdout, /copy\.db: \d+ bytes/)
  t.match(made.stdout, join(folder, 'one', 'root.key'))
  t.match(made.stdout, join(folder, 'one', 'objects'))
  t.match(made.stdout, join(folder, 'one', 'recordings'))
  const bucket = await parley('one', 'backup', '--to', 'other.db', { PARLEY_OBJECT_STORE: 's3://calls' })
  t.match(bucket.stdout, 'the bucket calls')
  t.equal(readFileSync(join(folder, 'copy.db')).subarray(0, 15).toString(), 'SQLite format 3')
  await parley('two', 'restore', '--from', 'copy.db')
  const url = (name: string) => `sqlite:${join(folder, name, 'parley.db')}`
  t.equal(await contents(url('two')), await contents(url('one')))
  await t.rejects(parley('two', 'restore', '--from', 'copy.db'), { code: 1, stderr: /exists already/ })
  await t.rejects(parley('one', 'backup'), { code: 2, stderr: /--to must name a file/ })
})
