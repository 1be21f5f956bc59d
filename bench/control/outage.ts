import { type OpenDatabase, openDatabase } from '../../control/db/database.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { openPostgresProxy } from '../../fixtures/database/postgres-proxy.js'
import { until } from '../../fixtures/host/until.js'
import { TEST_AGENT } from '../../fixtures/service/service.js'
import { type ServiceProcess, startServiceProcess } from '../../fixtures/service/service-process.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

/** Lengths of the outages (s). The shortest one lasts 35 s, so that the short calls end in it. */
export const OUTAGES_S = [30, 300]
/** Calls that last through the outage. */
const CALLS = 20
/** Calls that reach their own limit during the outage, and that limit (s). */
const SHORT_CALLS = 5
const SHORT_S = 30
/** Length of the long calls (s), more than the longest outage. */
const LONG_S = 900
/** Answers, says nothing and never hangs up. */
const LISTENER = '+919000000011'
/** Events that decide the state, the price or the outcome of a call. */
const DECIDES: readonly string[] = ['dialing', 'ringing', 'answered', 'ended']
const WAIT_MS = 120_000

/**
 * Measures how long (s) after an outage of PostgreSQL the service places calls and has stored everything again. 20 calls last
 * through it, and 5 end during it. A call that drops or an event that is lost fails the measurement.
 */
export async function measureOutage(seconds: number): Promise<Measured[]> {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const proxy = await openPostgresProxy(url)
  const service = await startServiceProcess({
    env: { PARLEY_DATABASE_URL: proxy.url, PARLEY_MEDIA_WORKERS: '2', PARLEY_LOG_LEVEL: 'silent' },
    ...{ agentCalls: CALLS + SHORT_CALLS + 1, requestsPerMinute: 100_000 },
  })
  const database = openDatabase(url, silentLog)
  try {
    const [long, short] = [await makeAgent(service, LONG_S), await makeAgent(service, SHORT_S)]
    const numberId = await firstNumber(service)
    const lasting = await place(service, numberId, long, CALLS)
    const brief = await place(service, numberId, short, SHORT_CALLS)
    await until(() => countOf(service, 'answered') === CALLS + SHORT_CALLS, { ms: WAIT_MS })

    await proxy.refuse()
    proxy.cutAll()
    await passed(1000 * Math.max(seconds, SHORT_S + 5))
    const dropped = endedOf(service).filter((id) => lasting.includes(id)).length
    const ended = endedOf(service).filter((id) => brief.includes(id)).length
    if (ended !== SHORT_CALLS)
      throw new Error(`${ended} of ${SHORT_CALLS} short calls ended during the outage`)

    const startedMs = performance.now()
    await proxy.heal()
    await until(() => tryPlacing(service, numberId, short), { everyMs: 50, ms: WAIT_MS })
    const placedMs = performance.now() - startedMs
    await until(async () => (await countMissing(service, database)) === 0, { everyMs: 100, ms: WAIT_MS })
    const storedMs = performance.now() - startedMs
    for (const id of lasting) await service.api('POST', `/v1/calls/${id}/hangup`, {})
    await until(() => lasting.every((id) => endedOf(service).includes(id)), { ms: WAIT_MS })
    await until(async () => (await countOpen(database)) === 0, { everyMs: 100, ms: WAIT_MS })
    const reasons = await endsOf(database, brief)
    const eventsLost = await countMissing(service, database)
    if (dropped > 0 || eventsLost > 0 || reasons.join() !== 'max_duration') {
      throw new Error(
        `${dropped} calls were dropped, ${eventsLost} events lost; short calls ended by ${reasons.join()}`,
      )
    }
    const result = figure(
      `Outage@${seconds}`,
      { value: rounded(Math.max(placedMs, storedMs) / 1000), n: CALLS + SHORT_CALLS },
      { dropped, eventsLost, placedS: rounded(placedMs / 1000), storedS: rounded(storedMs / 1000) },
    )
    return [result]
  } finally {
    await database.close()
    await service.close()
    await proxy.close()
    await postgres.stop()
  }
}

const passed = (ms: number) => new Promise<void>((resolve) => systemClock.after(ms, resolve))
const countOf = ({ events }: ServiceProcess, type: string) =>
  events.filter((event) => event.type === type).length
const endedOf = ({ events }: ServiceProcess) =>
  events.flatMap(({ type, callId }) => (type === 'ended' ? [callId] : []))

async function makeAgent(service: ServiceProcess, maxCallSeconds: number): Promise<string> {
  const callSettings = {
    ...(TEST_AGENT.callSettings as object),
    ...{ maxCallSeconds, nudges: { enabled: false } },
  }
  const { data } = (await service.api('POST', '/v1/agents', { ...TEST_AGENT, callSettings })) as {
    data: { id: string }
  }
  await service.api('POST', `/v1/agents/${data.id}/publish`, {})
  return data.id
}

async function firstNumber(service: ServiceProcess): Promise<string> {
  const { data } = (await service.api('GET', '/v1/numbers')) as { data: { id: string }[] }
  return String(data[0]?.id)
}

async function place(
  service: ServiceProcess,
  numberId: string,
  agentId: string,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const { data } = (await service.api('POST', '/v1/calls', { to: LISTENER, numberId, agentId })) as {
      data: { id: string }
    }
    ids.push(data.id)
  }
  return ids
}

async function tryPlacing(service: ServiceProcess, numberId: string, agentId: string): Promise<boolean> {
  return place(service, numberId, agentId, 1).then(
    () => true,
    () => false,
  )
}

/** Returns how many events that decide something are not stored. */
async function countMissing({ events }: ServiceProcess, { db }: OpenDatabase): Promise<number> {
  const rows = await db.selectFrom('callEvents').select(['callId', 'seq']).execute()
  const stored = new Set(rows.map(({ callId, seq }) => `${callId} ${seq}`))
  return events.filter(({ type, callId, seq }) => DECIDES.includes(type) && !stored.has(`${callId} ${seq}`))
    .length
}

async function countOpen({ db }: OpenDatabase): Promise<number> {
  const rows = await db.selectFrom('calls').select('id').where('endedAt', 'is', null).execute()
  return rows.length
}

/** Returns the different reasons for which calls ended. */
async function endsOf({ db }: OpenDatabase, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await db.selectFrom('calls').select('endedReason').distinct().where('id', 'in', ids).execute()
  return rows.map(({ endedReason }) => String(endedReason))
}
