import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fillCalls } from '../../fixtures/database/fill-calls.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'
import { systemClock } from '../../media/base/clock.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged } from '../lib/judged-time.js'
import { percentile, rounded } from '../lib/statistics.js'

const CALLS = 100_000
const WARM_UP = 500
const REQUESTS = 4000
const CLIENTS = 8
const STARTS = 5
const SEARCHED_CALLS = 1_000_000
const SEARCHES = 20
/** Time in which the idle service is watched for comparison (ms). */
const IDLE_MS = 5_000

/**
 * Measures GET of one call of 100,000 with a key, on SQLite and PostgreSQL; client and service are two
 * processes.
 */
export async function measureGet(probe: Probe): Promise<Measured[]> {
  const postgres = await startPostgres()
  try {
    return [
      await measureOn('A_get', {}, probe),
      await measureOn('A_get@postgres', { PARLEY_DATABASE_URL: await postgres.createDatabase() }, probe),
    ]
  } finally {
    await postgres.stop()
  }
}

async function measureOn(id: string, env: Readonly<Record<string, string>>, probe: Probe): Promise<Measured> {
  const engine = await startServiceProcess({ env: { PARLEY_MEDIA_WORKERS: '1', ...env } })
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  try {
    const url = env.PARLEY_DATABASE_URL ?? `sqlite:${join(engine.dataFolder, 'parley.db')}`
    const ids = await fillCalls(url, CALLS)
    const ask = (path: string) => timed(agent, `${engine.httpUrl}${path}`, engine.keys.test)
    const anyCall = (): string => `/v1/calls/${ids[Math.floor(Math.random() * ids.length)]}`
    for (let i = 0; i < WARM_UP; i++) await ask(anyCall())
    const asked: { readonly atMs: number; readonly ms: number; readonly bareMs: number }[] = []
    await probe.begin()
    for (let i = 0; i < REQUESTS; i++) {
      const atMs = systemClock.now()
      // Alternating, so that both meet the same noise of the host.
      asked.push({ atMs, ms: await ask(anyCall()), bareMs: await ask('/v1/health') })
    }
    const { late } = await probe.judge()
    const judged = asked.filter(({ atMs, ms }) => isJudged(late, atMs, atMs + ms))
    const times = judged.map(({ ms }) => ms)
    const bare = judged.map(({ bareMs }) => bareMs)
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
    await fillCalls(`sqlite:${join(engine.dataFolder, 'parley.db')}`, SEARCHED_CALLS)
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
