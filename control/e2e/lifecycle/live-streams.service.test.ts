import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { EventStream } from '../../../clients/typescript/event-stream.js'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { runCli, START_ENV, temporaryFolder } from '../../../fixtures/service/cli.js'
import { systemClock } from '../../../media/base/clock.js'
import { silentLog } from '../../../media/base/log.js'
import { insertUser } from '../../access/accounts/store.js'
import { SESSION_COOKIE } from '../../access/sessions/cookies.js'
import { createSession } from '../../access/sessions/sessions.js'
import { rootKeyOf } from '../../base/root-key.js'
import { openDatabase } from '../../db/database.js'
import { recordChange } from '../../live/changes.js'

/*
 * Fifty pages watch the changes of one organization. The process that serves them is killed, and they go on with
 * another process of the same database.
 */

const STREAMS = 50
const STREAMS_OF_USER = 6
const WRITERS = 5
/** Changes of each writer before the process is killed, and again after it. */
const CHANGES = 40

type Live =
  | { readonly event: 'hello'; readonly data: { readonly resumed: boolean } }
  | { readonly event: 'changed'; readonly data: { readonly id: string } }

t.test('fifty streams survive the death of their process', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const url = await postgres.createDatabase({ migrated: true })
  const folder = await temporaryFolder(t)
  const rootKey = 'cd'.repeat(32)
  const processes = ['one', 'two'].map(async (name) => {
    await mkdir(join(folder, name))
    const cli = runCli(t, join(folder, name), ['start'], {
      ...START_ENV,
      PARLEY_DATABASE_URL: url,
      PARLEY_ROOT_KEY: rootKey,
    })
    const { api } = await cli.logged('service.ready')
    return { cli, base: String(api) }
  })
  const [one, two] = await Promise.all(processes)
  if (one === undefined || two === undefined) throw new Error('two processes are needed')
  const database = openDatabase(url, silentLog)
  t.teardown(() => database.close())
  const { db } = database
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()

  const cookies: string[] = []
  for (let i = 0; i * STREAMS_OF_USER < STREAMS; i++) {
    const createdAt = systemClock.wall()
    const userId = await insertUser(db, createdAt, {
      email: `person${i}@people.test`,
      name: 'A Person',
      passwordHash: 'none',
      emailVerifiedAt: createdAt,
      staff: 0,
    })
    if (userId === null) throw new Error('the address is taken')
    await db.insertInto('members').values({ organizationId, userId, role: 'viewer', createdAt }).execute()
    const deps = { rootKey: rootKeyOf(Buffer.from(rootKey, 'hex')), clock: systemClock }
    const { token } = await createSession(db, deps, userId)
    cookies.push(`${SESSION_COOKIE}=${token}`)
  }

  const seen: string[][] = []
  const resumed: boolean[] = []
  let open = 0
  const end = new AbortController()
  const follow = async (index: number): Promise<void> => {
    const cookie = cookies[Math.floor(index / STREAMS_OF_USER)] ?? ''
    const ids: string[] = []
    seen[index] = ids
    let position: string | null = null
    for (const { base } of [one, two]) {
      const response = await fetch(`${base}/v1/live`, {
        headers: { cookie, ...(position === null ? {} : { 'last-event-id': position }) },
        signal: end.signal,
      })
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
      const stream = new EventStream<Live>(response)
      try {
        for await (const { event, data } of stream) {
          position = stream.lastEventId
          if (event === 'changed') ids.push(data.id)
          if (event !== 'hello') continue
          open++
          if (base === two.base) resumed.push(data.resumed)
        }
      } catch (error) {
        if (end.signal.aborted) return
        if (base === two.base) throw error
      }
    }
  }
  const streams = Promise.all(Array.from({ length: STREAMS }, (_, index) => follow(index)))
  const until = async (what: string, done: () => boolean): Promise<void> => {
    const deadline = systemClock.now() + WAIT_LIMIT_MS
    while (!done()) {
      if (systemClock.now() > deadline) throw new Error(`${what} did not happen`)
      await Promise.race([streams, new Promise<void>((resolve) => systemClock.after(20, resolve))])
    }
  }
  const write = (part: string) =>
    Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let i = 0; i < CHANGES; i++) {
          await db.transaction().execute(async (trx) => {
            const subjectId = `${part} ${writer} ${i}`
            const change = { organizationId, environment: 'test', kind: 'call', subjectId } as const
            await recordChange(trx, change, systemClock.wall())
          })
        }
      }),
    )

  await until('all streams are open', () => open === STREAMS)
  const before = write('before')
  await until('the streams have some changes', () => seen.every((ids) => ids.length > 0))
  one.cli.process.kill('SIGKILL')
  await Promise.all([before, write('after')])
  const total = 2 * WRITERS * CHANGES
  await until('every stream has every change', () => seen.every((ids) => ids.length >= total))

  t.same(
    resumed,
    Array.from({ length: STREAMS }, () => true),
    'each continued where it was',
  )
  const [first = []] = seen
  t.equal(new Set(first).size, total, 'every change')
  for (const ids of seen) t.same(ids, first, 'each change once, in one order')
  end.abort()
  await streams
  two.cli.process.kill('SIGTERM')
  t.equal(await two.cli.exit(), 0)
})
