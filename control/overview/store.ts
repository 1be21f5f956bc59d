import { sql } from 'kysely'
import { istDate, istMidnight } from '../base/ist.js'
import type { Db } from '../db/database.js'

/** Whose calls are counted. */
export interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

const DAY_MS = 86_400_000
/** India is 330 minutes ahead of UTC. */
const IST_MS = 330 * 60_000
/** Today and the same day of the last week. */
export const DAYS = 8
/** Answered calls whose latency is summed up. */
const LATENCY_CALLS = 1_000

export interface DayCounts {
  /** In India, `YYYY-MM-DD`. */
  readonly day: string
  readonly calls: number
  readonly answered: number
  readonly failed: number
  readonly seconds: number
  readonly billedPaise: number
}

/** Counts the calls of the last eight days in India, today last. A day without calls has zeros. */
export async function countDays(db: Db, owner: Owner, now: number): Promise<readonly DayCounts[]> {
  const first = istMidnight(istDate(now)) - (DAYS - 1) * DAY_MS
  const index = sql<number>`(("createdAt" + ${sql.lit(IST_MS)}) / ${sql.lit(DAY_MS)})`
  const rows = await db
    .selectFrom('calls')
    .select([
      index.as('index'),
      (column) => column.fn.countAll<number>().as('calls'),
      sql<number>`sum(case when "answeredAt" is null then 0 else 1 end)`.as('answered'),
      sql<number>`sum(case when "disposition" = 'failed' then 1 else 0 end)`.as('failed'),
      sql<number>`sum("agentSeconds" + "humanSeconds")`.as('seconds'),
      sql<number>`sum("billedPaise")`.as('billedPaise'),
    ])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('createdAt', '>=', first)
    .groupBy(index)
    .execute()
  return Array.from({ length: DAYS }, (_, number) => {
    const at = first + number * DAY_MS
    const row = rows.find((counted) => Number(counted.index) === Math.floor((at + IST_MS) / DAY_MS))
    return {
      ...{ day: istDate(at), calls: Number(row?.calls ?? 0), answered: Number(row?.answered ?? 0) },
      ...{ failed: Number(row?.failed ?? 0), seconds: Number(row?.seconds ?? 0) },
      billedPaise: Number(row?.billedPaise ?? 0),
    }
  })
}

interface CallTimes {
  readonly firstAudioMs: number | null
  readonly turnP50Ms: number | null
  readonly turnP95Ms: number | null
}

export interface Latency extends CallTimes {
  /** Calls that the values are of. */
  readonly calls: number
}

/** Sums up the latest calls of the last 24 hours: the median of their values, for `turnP95Ms` the 95th percentile. */
export async function sumUpLatency(db: Db, owner: Owner, now: number): Promise<Latency> {
  const rows = await db
    .selectFrom('calls')
    .select('latency')
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('createdAt', '>=', now - DAY_MS)
    .where('latency', 'is not', null)
    .orderBy('createdAt', 'desc')
    .limit(LATENCY_CALLS)
    .execute()
  const times = rows.map(({ latency }) => JSON.parse(latency ?? '{}') as CallTimes)
  const at = (share: number, of: (call: CallTimes) => number | null): number | null => {
    const values = times.flatMap((call) => of(call) ?? []).sort((a, b) => a - b)
    return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null
  }
  return {
    calls: times.length,
    firstAudioMs: at(0.5, ({ firstAudioMs }) => firstAudioMs),
    turnP50Ms: at(0.5, ({ turnP50Ms }) => turnP50Ms),
    turnP95Ms: at(0.95, ({ turnP95Ms }) => turnP95Ms),
  }
}

/** Counts the campaigns that dial. */
export async function countRunningCampaigns(db: Db, owner: Owner): Promise<number> {
  const row = await db
    .selectFrom('campaigns')
    .select((column) => column.fn.countAll<number>().as('running'))
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return Number(row?.running ?? 0)
}
