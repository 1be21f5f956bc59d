import { get } from 'node:http'
import { join } from 'node:path'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'
import { fillCalls } from './many-calls.js'

const ROWS = 100_000
const WARM_UPS = 3
const SAMPLE_MS = 20

/**
 * Measures by how much the memory of the service grows (MB of RSS) while it sends 100,000 calls as CSV, on SQLite and
 * PostgreSQL. Downloads of 1,000 calls come first, so that the code does not count. `againMb` is the
 * further growth in a second download: what grows in the first one is garbage that the process has not collected yet.
 */
export async function measureCsv(): Promise<Measured[]> {
  const postgres = await startPostgres()
  try {
    return [
      await measureOn('A_csv', {}),
      await measureOn('A_csv@postgres', { PARLEY_DATABASE_URL: await postgres.createDatabase() }),
    ]
  } finally {
    await postgres.stop()
  }
}

async function measureOn(id: string, env: Readonly<Record<string, string>>): Promise<Measured> {
  const service = await startServiceProcess({ env: { PARLEY_MEDIA_WORKERS: '1', ...env } })
  try {
    const url = env.PARLEY_DATABASE_URL ?? `sqlite:${join(service.dataFolder, 'parley.db')}`
    const ids = await fillCalls(url, ROWS)
    const download = (query: string) =>
      downloaded(`${service.httpUrl}/v1/calls/export.csv${query}`, service.keys.test)
    const rss = async () => (await service.usage()).rssBytes / 1024 / 1024
    for (let i = 0; i < WARM_UPS; i++) await download('?search=9800012')
    service.collectGarbage()
    const before = await rss()
    const first = await growth(rss, () => download(''))
    const again = await growth(rss, () => download(''))
    return figure(
      id,
      { value: rounded(first.peak - before), n: ids.length },
      {
        bytes: first.bytes,
        seconds: first.seconds,
        beforeMb: rounded(before),
        againMb: rounded(again.peak - first.peak),
      },
    )
  } finally {
    await service.close()
  }
}

/** Returns the largest memory (MB) during a download, its bytes and its time (s). */
async function growth(rss: () => Promise<number>, download: () => Promise<number>) {
  let peak = 0
  let ended = false
  const startedAt = performance.now()
  const transfer = download().finally(() => {
    ended = true
  })
  while (!ended) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
    peak = Math.max(peak, await rss())
  }
  return { peak, bytes: await transfer, seconds: rounded((performance.now() - startedAt) / 1000) }
}

/** Downloads without keeping the bytes. Returns their number. Throws on any status but 200. */
function downloaded(url: string, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: { authorization: `Bearer ${key}` } }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.once('end', () => {
        if (response.statusCode === 200) resolve(bytes)
        else reject(new Error(`${url} answered ${response.statusCode}`))
      })
      response.once('error', reject)
    })
    request.once('error', reject)
  })
}
