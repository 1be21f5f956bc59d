import { EventStream } from '../../clients/typescript/event-stream.js'
import { insertUser } from '../../control/access/accounts/store.js'
import { SESSION_COOKIE } from '../../control/access/sessions/cookies.js'
import { createSession } from '../../control/access/sessions/sessions.js'
import { rootKeyOf } from '../../control/base/root-key.js'
import { type OpenDatabase, openDatabase } from '../../control/db/database.js'
import { recordChange } from '../../control/live/changes.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { cpuMsOf } from '../../fixtures/host/process-cpu.js'
import { until } from '../../fixtures/host/until.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile, rounded } from '../lib/statistics.js'

/** The most that an organization may have. */
export const STREAMS = 50
const STREAMS_OF_USER = 6
/** Each of them changes once a second, which is how often what is said is stored. */
export const CALLS = 200
const SECONDS = 12
const ROUNDS = 4
/** The root key of a service whose streams are opened here. */
export const ROOT_KEY = 'ef'.repeat(32)

type Live = { readonly event: 'hello' | 'changed'; readonly data: unknown }

/**
 * Measures the CPU (% of a core) of 50 streams of live changes while 200 calls change once a second: what the service
 * takes with the streams less what it takes without them, in turns.
 */
export async function measureStreams(): Promise<Measured[]> {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const service = await startServiceProcess({
    env: { PARLEY_DATABASE_URL: url, PARLEY_ROOT_KEY: ROOT_KEY, PARLEY_MEDIA_WORKERS: '1' },
  })
  const database = openDatabase(url, silentLog)
  try {
    const cookies = await signIn(database)
    const { id: organizationId } = await database.db
      .selectFrom('organizations')
      .select('id')
      .executeTakeFirstOrThrow()
    const percents: number[] = []
    const alone: number[] = []
    let received = 0
    for (let round = 0; round <= ROUNDS; round++) {
      const without = await whileCallsChange(database, organizationId, service.pid)
      const streams = await openStreams(service.httpUrl, cookies)
      const withStreams = await whileCallsChange(database, organizationId, service.pid)
      received += await streams.close()
      // The first round warms up.
      if (round === 0) continue
      percents.push(withStreams - without)
      alone.push(without)
    }
    const perRound = Math.round(received / (ROUNDS + 1))
    if (perRound < (STREAMS * CALLS * SECONDS) / 2)
      throw new Error(`the streams had ${perRound} changes only`)
    return [
      figure(
        'A_streams',
        { value: rounded(percentile(percents, 0.5)), n: ROUNDS },
        { withoutStreams: rounded(percentile(alone, 0.5)), messagesPerRound: perRound },
      ),
    ]
  } finally {
    await database.close()
    await service.close()
    await postgres.stop()
  }
}

/** Writes the changes of all calls each second, in one transaction. Returns the CPU of the service (% of a core). */
async function whileCallsChange({ db }: OpenDatabase, organizationId: string, pid: number): Promise<number> {
  const startedAt = systemClock.now()
  const before = cpuMsOf(pid)
  for (let second = 1; second <= SECONDS; second++) {
    await db.transaction().execute(async (trx) => {
      for (let call = 0; call < CALLS; call++) {
        const change = {
          organizationId,
          environment: 'test',
          kind: 'call',
          subjectId: `call_${call}`,
        } as const
        await recordChange(trx, change, systemClock.wall())
      }
    })
    const waitMs = startedAt + 1000 * second - systemClock.now()
    if (waitMs > 0) await new Promise<void>((resolve) => systemClock.after(waitMs, resolve))
  }
  return (100 * (cpuMsOf(pid) - before)) / (systemClock.now() - startedAt)
}

/** Signs in as many people as the streams need. Returns their cookies. */
export async function signIn({ db }: OpenDatabase): Promise<readonly string[]> {
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
    const deps = { rootKey: rootKeyOf(Buffer.from(ROOT_KEY, 'hex')), clock: systemClock }
    cookies.push(`${SESSION_COOKIE}=${(await createSession(db, deps, userId)).token}`)
  }
  return cookies
}

/** Opens the streams. `close` returns how many changes all of them had. */
export async function openStreams(base: string, cookies: readonly string[], count = STREAMS) {
  const end = new AbortController()
  let open = 0
  let changes = 0
  const follow = async (index: number): Promise<void> => {
    const cookie = cookies[Math.floor(index / STREAMS_OF_USER)] ?? ''
    const response = await fetch(`${base}/v1/live`, { headers: { cookie }, signal: end.signal })
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    try {
      for await (const { event } of new EventStream<Live>(response)) {
        if (event === 'hello') open++
        else changes++
      }
    } catch (error) {
      if (!end.signal.aborted) throw error
    }
  }
  const all = Promise.all(Array.from({ length: count }, (_, index) => follow(index)))
  await Promise.race([all, until(() => open === count, { everyMs: 50 })])
  return {
    async close(): Promise<number> {
      end.abort()
      await all
      return changes
    },
  }
}
