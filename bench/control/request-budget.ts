import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../control/db/database.js'
import { migrate } from '../../control/db/migrate.js'
import { storedBudgets } from '../../control/limits/rate-limit-store.js'
import { openRateLimiter } from '../../control/limits/rate-limiter.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

const REQUESTS = 20_000
const STATEMENTS = 1_000
/** Requests per minute at which a lease has 30 tokens, as at the default limit. */
const LIMIT = 600

/**
 * Measures the time of the request budget per request (us) with one request after the other, on a SQLite file
 * and on PostgreSQL: with leases, and with a statement for each request. Wall time passes virtually, so that
 * the budget never ends.
 */
export async function measureRequestBudget(): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-budget-'))
  const postgres = await startPostgres()
  try {
    return [
      await measureOn('A_budget', `sqlite:${join(folder, 'budget.db')}`),
      await measureOn('A_budget@postgres', await postgres.createDatabase()),
    ]
  } finally {
    await postgres.stop()
    await rm(folder, { recursive: true })
  }
}

async function measureOn(id: string, url: string): Promise<Measured> {
  const database = openDatabase(url, silentLog)
  try {
    await migrate(database)
    const { db } = database
    const organizationId = newId('org', 1)
    const organization = { id: organizationId, name: 'Bench', senderClassification: null, createdAt: 1 }
    await db.insertInto('organizations').values(organization).execute()
    const owner = { organizationId, environment: 'test' } as const
    let wall = systemClock.wall()
    const clock: Clock = { ...systemClock, wall: () => wall }
    const store = storedBudgets(db)
    const limiter = openRateLimiter(clock, { ...store, limitOf: async () => LIMIT }, silentLog)
    const timed = async (requests: number, work: () => Promise<{ readonly fullAt: number }>) => {
      const startedAt = systemClock.now()
      for (let i = 0; i < requests; i++) {
        wall += 60_000 / LIMIT
        await work()
      }
      return rounded(((systemClock.now() - startedAt) * 1000) / requests)
    }
    const take = () => limiter.take(owner, 1)
    await timed(1_000, take)
    const value = await timed(REQUESTS, take)
    const each = await timed(STATEMENTS, () =>
      store.takeTokens(owner, { wanted: 1, limit: LIMIT, windowMs: 60_000, now: wall }),
    )
    return figure(id, { value, n: REQUESTS }, { statementPerRequestUs: each })
  } finally {
    await database.close()
  }
}
