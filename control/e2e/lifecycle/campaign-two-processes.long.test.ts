import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { EventStream } from '../../../clients/typescript/event-stream.js'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { until } from '../../../fixtures/host/until.js'
import { runCli, START_ENV, temporaryFolder } from '../../../fixtures/service/cli.js'
import { type Json, TEST_AGENT } from '../../../fixtures/service/service.js'
import { openSession } from '../../../fixtures/service/session.js'
import { silentLog } from '../../../media/base/log.js'
import { readNodeId } from '../../app/node-id.js'
import { openDatabase } from '../../db/database.js'

const LONG_WAIT_MS = 600_000
const PEOPLE = 12
/** Lifetime of the lease of a call (ms). */
const LEASE_MS = 60_000

type Live =
  | { readonly event: 'hello'; readonly data: { readonly resumed: boolean } }
  | { readonly event: 'changed'; readonly data: { readonly kind: string; readonly id: string } }

/** A tab that follows the changes, and goes on at another process when its own dies. */
class Tab {
  readonly #cookie: string
  readonly #end = new AbortController()
  #lastEventId: string | null = null
  /** Changes as `kind id`. */
  readonly seen = new Set<string>()
  /** True for each stream that went on where the one before ended. */
  readonly resumed: boolean[] = []

  constructor(cookie: string) {
    this.#cookie = cookie
  }

  /** Follows the streams of the processes, each until the process dies or the tab is closed. */
  async follow(...bases: readonly string[]): Promise<void> {
    for (const [index, base] of bases.entries()) {
      const position = this.#lastEventId
      const response = await fetch(`${base}/v1/live`, {
        headers: { cookie: this.#cookie, ...(position === null ? {} : { 'last-event-id': position }) },
        signal: this.#end.signal,
      })
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
      const stream = new EventStream<Live>(response)
      try {
        for await (const { event, data } of stream) {
          this.#lastEventId = stream.lastEventId
          if (event === 'hello') this.resumed.push(data.resumed)
          else if (event === 'changed') this.seen.add(`${data.kind} ${data.id}`)
        }
      } catch (error) {
        if (this.#end.signal.aborted) return
        if (index === bases.length - 1) throw error
      }
    }
  }

  close(): void {
    this.#end.abort()
  }
}

t.test('a campaign of two processes goes on when one of them is killed', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const url = await postgres.createDatabase()
  const folder = await temporaryFolder(t)
  const processes = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const own = join(folder, name)
      await mkdir(own)
      const env = {
        ...START_ENV,
        PARLEY_DATABASE_URL: url,
        PARLEY_ROOT_KEY: 'cd'.repeat(32),
      }
      const cli = runCli(t, own, ['start'], env)
      const { api } = await cli.logged('service.ready')
      return { cli, base: String(api), nodeId: await readNodeId(join(own, 'data')) }
    }),
  )
  const stderr = processes.map(({ cli }) => cli.stderr).join('\n')
  const key = /Test key +(\S+)\s/.exec(stderr)?.[1] ?? ''
  let base = processes[0]?.base ?? ''
  const send = async (method: string, path: string, body: object): Promise<Json> => {
    const headers = {
      authorization: `Bearer ${key}`,
      connection: 'close',
      'content-type': 'application/json',
      'idempotency-key': path,
    }
    const answer = await fetch(`${base}${path}`, { method, headers, body: JSON.stringify(body) })
    t.ok(answer.ok, `${method} ${path}: ${answer.status}`)
    return ((await answer.json()) as { data: Json }).data
  }
  const database = openDatabase(url, silentLog)
  t.teardown(() => database.close())
  const { db } = database
  const number = await db
    .selectFrom('numbers')
    .selectAll()
    .where('environment', '=', 'test')
    .executeTakeFirstOrThrow()
  // Of the default limit campaigns may take three slots only.
  await db
    .insertInto('callingProfiles')
    .values({
      ...{ organizationId: number.organizationId, agentCallsTest: 10, agentCallsLive: null },
      ...{ ratePaisePerMinute: null, enforcedAt: null, enforcedReason: null },
      ...{ windowStartMinute: null, windowEndMinute: null },
    })
    .execute()
  const agent = await send('POST', '/v1/agents', TEST_AGENT)
  await send('POST', `/v1/agents/${agent.id}/publish`, {})
  const [, email = '', password = ''] = /Owner +(\S+), password (\S+)\s/.exec(stderr) ?? []
  const { cookie } = await openSession(base, { email, password })
  const [one, two] = processes.map((own) => {
    const tab = new Tab(cookie)
    t.teardown(async () => tab.close())
    const others = processes.filter((other) => other !== own)
    return { tab, following: tab.follow(own.base, ...others.map((other) => other.base)) }
  })
  if (one === undefined || two === undefined) throw new Error('two processes are needed')
  const tabs = [one, two]
  await until(() => tabs.every(({ tab }) => tab.resumed.length === 1))
  const campaign = await send('POST', '/v1/campaigns', {
    ...{ name: 'Shared', agentId: agent.id, numberId: number.id },
    schedule: { windowStartMinute: 0, windowEndMinute: 1_440 },
    // A dial is later than a turn lasts: after each one both processes may take the next turn.
    pacing: { callsPerMinute: 6, maxConcurrent: 4 },
    retries: { attempts: 2, intervalMinutes: 5, on: ['no_answer'] },
  })
  const people = Array.from({ length: PEOPLE }, (_, i) => ({ e164: `+9198000000${i + 10}` }))
  await send('POST', `/v1/campaigns/${campaign.id}/recipients`, { recipients: people })
  await send('POST', `/v1/campaigns/${campaign.id}/launch`, {})

  const calls = () => db.selectFrom('calls').selectAll().execute()
  let victim = processes[0]
  await until(
    async () => {
      const all = await calls()
      const talking = all.find(({ answeredAt, endedAt }) => answeredAt !== null && endedAt === null)
      victim = processes.find(({ nodeId }) => nodeId === talking?.nodeId)
      return victim !== undefined && new Set(all.map(({ nodeId }) => nodeId)).size === 2
    },
    { everyMs: 100, ms: LONG_WAIT_MS },
  )
  const dead = victim
  if (dead === undefined) return
  dead.cli.process.kill('SIGKILL')
  t.equal(await dead.cli.exit(), 'SIGKILL')
  t.same(
    new Set((await calls()).map(({ nodeId }) => nodeId)),
    new Set(processes.map(({ nodeId }) => nodeId)),
    'both have dialled',
  )
  const own = new Set((await calls()).filter(({ nodeId }) => nodeId === dead.nodeId).map(({ id }) => id))

  // Instead of waiting for a minute, the leases of its calls grow older by one.
  await db
    .updateTable('calls')
    .set((column) => ({ leaseUntil: column('leaseUntil', '-', LEASE_MS) }))
    .where('nodeId', '=', dead.nodeId)
    .where('endedAt', 'is', null)
    .execute()
  base = processes.find((one) => one !== dead)?.base ?? ''
  const path = `/v1/campaigns/${campaign.id}`
  await send('POST', `${path}/pause`, {})
  await send('PATCH', path, { pacing: { callsPerMinute: 120, maxConcurrent: 6 } })
  await send('POST', `${path}/resume`, {})
  const status = async () =>
    (await db.selectFrom('campaigns').select('status').executeTakeFirstOrThrow()).status
  await until(async () => (await status()) === 'completed', { everyMs: 500, ms: LONG_WAIT_MS })
  const all = await calls()
  const told = [`campaign ${campaign.id}`, ...all.map(({ id }) => `call ${id}`)]
  await until(() => tabs.every(({ tab }) => told.every((change) => tab.seen.has(change))))
  const [left, moved] = dead === processes[0] ? [two, one] : [one, two]
  t.same(
    [left.tab.resumed, moved.tab.resumed],
    [[false], [false, true]],
    'the tab of the dead process went on',
  )
  for (const { tab } of tabs) tab.close()
  await Promise.all(tabs.map(({ following }) => following))
  t.same(
    all.map(({ toNumber }) => toNumber).toSorted(),
    people.map(({ e164 }) => e164),
    'everybody is dialled, and nobody twice',
  )
  const taken = all.filter(({ id }) => !own.has(id))
  t.ok(taken.length > 0)
  t.ok(
    taken.every(({ nodeId }) => nodeId !== dead.nodeId),
    'the other process takes over',
  )
  const recipients = await db.selectFrom('campaignRecipients').selectAll().execute()
  t.ok(recipients.every(({ status: one, attempts }) => one === 'settled' && attempts === 1))
  t.ok(
    recipients.some(({ outcome }) => outcome === 'unknown'),
    'the calls of the dead process count',
  )
  t.match(await db.selectFrom('campaigns').selectAll().executeTakeFirstOrThrow(), {
    total: PEOPLE,
    dialed: PEOPLE,
    settled: PEOPLE,
  })
})
