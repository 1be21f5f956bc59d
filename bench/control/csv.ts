import { join } from 'node:path'
import { fillCalls } from '../../fixtures/database/fill-calls.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { downloadMemory, memoryMb } from '../../fixtures/service/download-memory.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

const ROWS = 100_000
const WARM_UPS = 3

/**
 * Measures by how much the memory of the service grows (MB of RSS) while it sends 100,000 calls as CSV, on SQLite and
 * PostgreSQL. Downloads of 1,000 calls come first, so that the code does not count. `againMb` is the
 * further growth in a second download.
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
    const download = (query: string) => downloadMemory(service, `/v1/calls/export.csv${query}`)
    for (let i = 0; i < WARM_UPS; i++) await download('?search=980001')
    service.collectGarbage()
    const before = await memoryMb(service)
    const startedAt = performance.now()
    const first = await download('')
    const seconds = rounded((performance.now() - startedAt) / 1000)
    const again = await download('')
    return figure(
      id,
      { value: rounded(first.peakMb - before), n: ids.length },
      {
        bytes: first.bytes,
        seconds,
        beforeMb: rounded(before),
        againMb: rounded(again.peakMb - first.peakMb),
      },
    )
  } finally {
    await service.close()
  }
}
