import { join } from 'node:path'
import t from 'tap'
import { fillCalls } from '../../fixtures/database/fill-calls.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { downloadMemory, memoryMb } from '../../fixtures/service/download-memory.js'
import { startServiceProcess } from '../../fixtures/service/service-process.js'

const ROWS = 100_000
/** Growth that the largest export may cost (MB of RSS). */
const MOST_MB = 32
/** Downloads of 10,000 calls before, after which the heap of the service has its working size. */
const WARM_UPS = 3

t.test('an export of 100,000 calls takes constant memory', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  for (const dialect of ['sqlite', 'postgres']) {
    await t.test(dialect, async (t) => {
      const database = dialect === 'sqlite' ? null : await postgres.createDatabase()
      const env = {
        PARLEY_MEDIA_WORKERS: '1',
        ...(database === null ? {} : { PARLEY_DATABASE_URL: database }),
      }
      const service = await startServiceProcess({ env })
      try {
        await fillCalls(database ?? `sqlite:${join(service.dataFolder, 'parley.db')}`, ROWS)
        const download = (query: string) => downloadMemory(service, `/v1/calls/export.csv${query}`)
        for (let i = 0; i < WARM_UPS; i++) await download('?search=980001')
        for (const which of ['first', 'second']) {
          // The growth of each download by itself: compiled code and caches of the process grow beside them.
          service.collectGarbage()
          const before = await memoryMb(service)
          const { bytes, peakMb } = await download('')
          t.ok(bytes > ROWS * 300, `${bytes} bytes`)
          const grown = peakMb - before
          t.ok(grown < MOST_MB, `the ${which} download: ${grown.toFixed(1)} MB more than before`)
        }
      } finally {
        await service.close()
      }
    })
  }
})
