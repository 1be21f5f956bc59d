import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Db, openDatabase } from '../../control/db/database.js'
import type { CallRow } from '../../control/db/tables/calling.js'
import { setRequestLimit } from '../../control/limits/rate-limit-store.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile, rounded } from '../lib/statistics.js'

const CALLS = 100_000
const ROWS_AT_ONCE = 400
const WARM_UP = 500
const REQUESTS = 4000
const CLIENTS = 8
const PLENTY = 100_000_000
const STARTS = 5
const SEARCHED_CALLS = 1_000_000
const SEARCHES = 20
/** Time in which the idle service is watched for comparison (ms). */
const IDLE_MS = 5_000

/**
 * Measures GET of one call of 100,000 with a key, on SQLite and PostgreSQL; client and service are two
 * processes.
 */
export async function measureGet(): Promise<Measured[]> {
  const postgres = await startPostgres()
  try {
    return [
      await measureOn('A_get', {}),
      await measureOn('A_get@postgres', { PARLEY_DATABASE_URL: await postgres.createDatabase() }),
    ]
  } finally {
    await postgres.stop()
  }
}

async function measureOn(id: string, env: Readonly<Record<string, string>>): Promise<Measured> {
  const engine = await startServiceProcess({ env: { PARLEY_MEDIA_WORKERS: '1', ...env } })
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  try {
    const url = env.PARLEY_DATABASE_URL ?? `sqlite:${join(engine.dataFolder, 'parley.db')}`
    const ids = await fill(url, CALLS)
    const ask = (path: string) => timed(agent, `${engine.httpUrl}${path}`, engine.keys.test)
    const anyCall = (): string => `/v1/calls/${ids[Math.floor(Math.random() * ids.length)]}`
    for (let i = 0; i < WARM_UP; i++) await ask(anyCall())
    const times: number[] = []
    const bare: number[] = []
    for (let i = 0; i < REQUESTS; i++) {
      times.push(await ask(anyCall()))
      // Alternating, so that both meet the same noise of the host.
      bare.push(await ask('/v1/health'))
    }
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let i = 0; i < REQUESTS / CLIENTS; i++) await ask(anyCall())
      }),
    )
    const perSecond = Math.round(REQUESTS / ((performance.now() - startedAt) / 1000))
    const values = { p50: rounded(percentile(times, 0.5)), p99: rounded(percentile(times, 0.99)) }
    return figure(
      id,
      { ...values, n: times.length },
      {
        rows: ids.length,
        perSecond,
        clients: CLIENTS,
        // Cost of a key, its rate limit and one row over a request that needs none of them.
        overHealthMs: rounded(percentile(times, 0.5) - percentile(bare, 0.5)),
      },
    )
  } finally {
    agent.destroy()
    await engine.close()
  }
}

/**
 * Measures how late the main thread of the service is while 20 searches for digits run in 1,000,000 calls on
 * SQLite: numbers that few calls have, digits that many have, and lists by a rare status.
 */
export async function measureSearch(): Promise<Measured[]> {
  const engine = await startServiceProcess({ env: { PARLEY_MEDIA_WORKERS: '1' } })
  const agent = new Agent({ keepAlive: true, maxSockets: SEARCHES })
  try {
    await fill(`sqlite:${join(engine.dataFolder, 'parley.db')}`, SEARCHED_CALLS)
    const ask = (query: string) => timed(agent, `${engine.httpUrl}/v1/calls?${query}`, engine.keys.test)
    const queries = Array.from({ length: SEARCHES }, (_, index) =>
      index % 4 === 3
        ? 'disposition=busy'
        : `search=${index % 4 === 2 ? '998' : String(90_000_000 + 7919 * index)}`,
    )
    await ask(queries[0] ?? '')
    engine.watchEventLoop()
    await engine.usage()
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const idle = await engine.usage()
    const times = await Promise.all(queries.map(ask))
    const { mainLateMs } = await engine.usage()
    return [
      figure(
        'A_search',
        { value: rounded(mainLateMs), n: times.length },
        {
          rows: SEARCHED_CALLS,
          idleLateMs: rounded(idle.mainLateMs),
          searchMs: { p50: rounded(percentile(times, 0.5)), max: rounded(Math.max(...times)) },
        },
      ),
    ]
  } finally {
    agent.destroy()
    await engine.close()
  }
}

/** Measures until the last byte of the response. Throws on any status but 200. */
function timed(agent: Agent, url: string, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const request = get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      response.resume()
      response.once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedAt)
        else reject(new Error(`${url} answered ${response.statusCode}`))
      })
    })
    request.once('error', reject)
  })
}

/** Fills the table of calls of the idle service and raises its rate limit; returns the calls' ids. */
async function fill(databaseUrl: string, calls: number): Promise<readonly string[]> {
  const database = openDatabase(databaseUrl, silentLog)
  try {
    const { db } = database
    const number = await db.selectFrom('numbers').selectAll().executeTakeFirstOrThrow()
    const { organizationId, environment } = number
    await setRequestLimit(db, { organizationId, environment }, PLENTY)
    const ids: string[] = []
    for (let made = 0; made < calls; made += ROWS_AT_ONCE) {
      const rows = Array.from({ length: ROWS_AT_ONCE }, (_, index) => callRow(number, made + index))
      await insert(db, rows)
      ids.push(...rows.map(({ id }) => id))
    }
    return ids
  } finally {
    await database.close()
  }
}

async function insert(db: Db, rows: readonly CallRow[]): Promise<void> {
  await db.insertInto('calls').values(rows).execute()
}

function callRow(
  number: {
    readonly id: string
    readonly organizationId: string
    readonly environment: 'test' | 'live'
    readonly e164: string
  },
  index: number,
): CallRow {
  const at = 1_760_000_000_000 + index * 1000
  return {
    id: newId('call', at),
    organizationId: number.organizationId,
    environment: number.environment,
    direction: 'outbound',
    status: 'ended',
    fromNumber: number.e164,
    toNumber: `+9198${String(index).padStart(8, '0')}`,
    numberId: number.id,
    agentId: null,
    agentVersion: null,
    agentVersionId: null,
    routingMode: 'svc_agent',
    purpose: 'transactional',
    campaignId: null,
    recipientId: null,
    disposition: 'answered',
    endedReason: 'caller_hangup',
    answeredBy: 'human',
    startedAt: at,
    ringingAt: at + 500,
    answeredAt: at + 4000,
    endedAt: at + 64_000,
    agentSeconds: 60,
    humanSeconds: 0,
    ratePaisePerMinute: 500,
    charges: '[]',
    billedPaise: 500,
    variables: '{}',
    metadata: '{}',
    latency: null,
    error: null,
    complianceRunId: null,
    evidenceId: null,
    idempotencyId: null,
    sipCallId: null,
    nodeId: 'bench',
    leaseUntil: 0,
    hangupRequestedAt: null,
    createdAt: at,
  }
}

/** Measures from process start to the log line `ready`, with an existing database. */
export async function measureStart(): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  try {
    // The first start creates the database.
    await startOnce(folder)
    const seconds: number[] = []
    for (let i = 0; i < STARTS; i++) seconds.push(await startOnce(folder))
    const value = rounded(percentile(seconds, 0.5))
    return [figure('A_start', { value, n: STARTS }, { slowest: rounded(Math.max(...seconds)) })]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function startOnce(folder: string): Promise<number> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_'))
  const startedAt = performance.now()
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../control/cli/main.js', import.meta.url)), 'start'],
    {
      cwd: folder,
      env: {
        ...Object.fromEntries(inherited),
        PARLEY_HTTP_PORT: '0',
        PARLEY_SIP_LISTEN: 'udp:127.0.0.1:0,tcp:127.0.0.1:0',
        PARLEY_RTP_PORTS: 'any',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const exited = once(child, 'exit')
  let output = ''
  const ready = new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('"msg":"service.ready"')) resolve((performance.now() - startedAt) / 1000)
    })
    child.once('exit', (code) =>
      reject(new Error(`the service ended (${code}) before it was ready: ${output}`)),
    )
  })
  try {
    return await ready
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}
