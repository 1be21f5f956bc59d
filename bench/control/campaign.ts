import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../control/db/database.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { startPostgres } from '../../fixtures/database/postgres.js'
import { readyForLive } from '../../fixtures/database/ready-for-live.js'
import { type ServiceProcess, startServiceProcess } from '../../fixtures/service/service-process.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile, rounded } from '../lib/statistics.js'

const NUMBER = '+911171366900'
/** Rows of the large campaign. */
const ROWS = 100_000
/** Campaigns that dial at once; each has the highest pace, 120 calls a minute. */
const CAMPAIGNS = 40
/** Recipients of each of the others. */
const OTHERS = 200
const PAGES = 300
/** Pages that are read before it is measured: V8 compiles the code of the first ones. */
const WARM_UP_PAGES = 20
/** Time for which the campaigns dial before and while it is measured (ms). */
const WARM_UP_MS = 5_000
const DIAL_MS = 30_000
/** Pause between two requests while campaigns dial (ms). */
const ASK_MS = 20
const PLENTY = 1_000_000
const FUNDS_PAISE = 100_000_000
const SLOTS = 2_000

/**
 * Measures campaigns on one process, on SQLite and PostgreSQL: the upload of 100,000 rows as CSV, the pre-flight over them, pages of
 * them, dials per second over a trunk with all checks of a live call, and GET of a campaign meanwhile. The far side of the trunk is busy.
 */
export async function measureCampaigns(): Promise<Measured[]> {
  const postgres = await startPostgres()
  try {
    return [
      ...(await measureOn('', {})),
      ...(await measureOn('@postgres', { PARLEY_DATABASE_URL: await postgres.createDatabase() })),
    ]
  } finally {
    await postgres.stop()
  }
}

async function measureOn(suffix: string, env: Readonly<Record<string, string>>): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-campaign-'))
  let dials = 0
  const carrier = await openSipPeer({
    onInvite: (dialog) => {
      dials++
      dialog.reject(486, 'Busy Here')
    },
  })
  const file = join(folder, 'trunks.json')
  const trunk = {
    name: 'carrier',
    gateway: { host: '127.0.0.1', port: carrier.port },
    inbound: { auth: 'ip_acl', addresses: ['192.0.2.1'] },
    ...{ maxConcurrent: 2_000, callsPerMinute: 10_000, numbers: [{ e164: NUMBER }] },
  }
  await writeFile(file, JSON.stringify({ trunks: [trunk] }))
  const service = await startServiceProcess({
    requestsPerMinute: PLENTY,
    env: { ...LIVE_MODELS_ENV, PARLEY_MEDIA_WORKERS: '1', PARLEY_TRUNKS_FILE: file, ...env },
  })
  const agent = new Agent({ keepAlive: true })
  const key = service.keys.live
  try {
    const numberId = await prepare(service, env.PARLEY_DATABASE_URL)
    const send = (method: string, path: string, type: string, body: string) =>
      answered(`${service.httpUrl}${path}`, {
        method,
        body,
        headers: { authorization: `Bearer ${key}`, 'content-type': type, 'idempotency-key': path },
      })
    const asha = { name: 'Asha', systemPrompt: 'You are Asha.', ...LIVE_MODELS }
    const agentId = String((await send('POST', '/v1/agents', 'application/json', JSON.stringify(asha))).id)
    await service.api('POST', `/v1/agents/${agentId}/publish`, {})
    const create = async (index: number): Promise<string> => {
      const campaign = {
        ...{ name: `Campaign ${index}`, agentId, numberId },
        schedule: { windowStartMinute: 0, windowEndMinute: 1_440 },
        pacing: { callsPerMinute: 120, maxConcurrent: 200 },
        retries: { attempts: 1 },
      }
      return String((await send('POST', '/v1/campaigns', 'application/json', JSON.stringify(campaign))).id)
    }
    const upload = async (id: string, index: number, rows: number): Promise<number> => {
      const csv = Array.from(
        { length: rows },
        (_, i) => `+91${60 + index}${String(i).padStart(8, '0')},C${i},Asha,${i}`,
      )
      const startedAt = performance.now()
      const { imported } = await send(
        'POST',
        `/v1/campaigns/${id}/recipients/import`,
        'text/csv',
        `phone,externalId,name,amount\n${csv.join('\n')}\n`,
      )
      if (imported !== rows) throw new Error(`${imported} of ${rows} rows were imported`)
      return rounded((performance.now() - startedAt) / 1_000)
    }
    const large = await create(0)
    const ask = (path: string) => timed(agent, `${service.httpUrl}${path}`, key)
    await ask(`/v1/campaigns/${large}`)
    const uploadMeanwhile = watch(() => ask(`/v1/campaigns/${large}`))
    const uploadS = await upload(large, 0, ROWS)
    const besideUpload = await uploadMeanwhile.stop()
    const startedAt = performance.now()
    await send('POST', `/v1/campaigns/${large}/preflight`, 'application/json', '{}')
    const preflightS = rounded((performance.now() - startedAt) / 1_000)
    const pages = await readPages(service.httpUrl, agent, key, large)

    const ids = [large]
    for (let index = 1; index < CAMPAIGNS; index++) {
      const id = await create(index)
      await upload(id, index, OTHERS)
      ids.push(id)
    }
    const idle = watch(() => ask(`/v1/campaigns/${large}`))
    const idleFrom = (await service.usage()).cpuMs
    await pause(WARM_UP_MS)
    const idleCpuMs = ((await service.usage()).cpuMs - idleFrom) / WARM_UP_MS
    await idle.stop()
    for (const id of ids) await send('POST', `/v1/campaigns/${id}/launch`, 'application/json', '{}')
    await pause(WARM_UP_MS)
    const meanwhile = watch(() => ask(`/v1/campaigns/${large}`))
    const [from, at, cpuBefore] = [dials, performance.now(), (await service.usage()).cpuMs]
    await pause(DIAL_MS)
    const seconds = (performance.now() - at) / 1_000
    const made = dials - from
    const cpuMs = (await service.usage()).cpuMs - cpuBefore
    const times = await meanwhile.stop()
    const context = {
      campaigns: CAMPAIGNS,
      rows: ROWS,
      // Without what the idle service and the requests take.
      cpuMsPerDial: rounded((cpuMs - idleCpuMs * seconds * 1_000) / made),
      seconds: rounded(seconds),
    }
    return [
      figure(
        `A_campaign@upload${suffix}`,
        { value: uploadS, n: ROWS },
        { apiP99Ms: p99(besideUpload), requests: besideUpload.length },
      ),
      figure(`A_campaign@preflight${suffix}`, { value: preflightS, n: ROWS }, {}),
      figure(
        `A_campaign@page${suffix}`,
        { p99: p99(pages), n: pages.length },
        { p50: rounded(percentile(pages, 0.5)) },
      ),
      figure(`A_campaign@dials${suffix}`, { value: rounded(made / seconds), n: made }, context),
      figure(
        `A_campaign@api${suffix}`,
        { p50: rounded(percentile(times, 0.5)), p99: p99(times), n: times.length },
        context,
      ),
    ]
  } finally {
    agent.destroy()
    await service.close()
    await carrier.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes the organization ready for live calls over the trunk. Returns the id of its number. */
async function prepare(service: ServiceProcess, postgresUrl: string | undefined): Promise<string> {
  const database = openDatabase(postgresUrl ?? `sqlite:${join(service.dataFolder, 'parley.db')}`, silentLog)
  try {
    const { db } = database
    const { id, organizationId } = await db
      .selectFrom('numbers')
      .selectAll()
      .where('e164', '=', NUMBER)
      .executeTakeFirstOrThrow()
    await readyForLive(db, organizationId, [NUMBER], systemClock.wall())
    await addFunds(db, organizationId, FUNDS_PAISE, systemClock.wall())
    await db
      .insertInto('callingProfiles')
      .values({
        ...{ organizationId, agentCallsTest: null, agentCallsLive: SLOTS, ratePaisePerMinute: null },
        ...{ enforcedAt: null, enforcedReason: null, windowStartMinute: null, windowEndMinute: null },
      })
      .execute()
    return id
  } finally {
    await database.close()
  }
}

/** Sends a request and returns `data`. Throws on any status but 2xx. */
async function answered(url: string, request: RequestInit): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, request)
  const text = await response.text()
  if (!response.ok) throw new Error(`${request.method} ${url} answered ${response.status}: ${text}`)
  return (JSON.parse(text) as { data: Readonly<Record<string, unknown>> }).data
}

/** Reads the recipients page by page. Returns the time of each page after the warm-up (ms). */
async function readPages(base: string, agent: Agent, key: string, id: string): Promise<number[]> {
  const times: number[] = []
  for (let cursor = ''; times.length < WARM_UP_PAGES + PAGES; ) {
    const { ms, text } = await timed(agent, `${base}/v1/campaigns/${id}/recipients?limit=100${cursor}`, key)
    times.push(ms)
    const { pagination } = (JSON.parse(text) as { meta: { pagination: { cursor: string } } }).meta
    cursor = `&cursor=${encodeURIComponent(pagination.cursor)}`
  }
  return times.slice(WARM_UP_PAGES)
}

/** Repeats a request until `stop`, which returns the time of each (ms). */
function watch(ask: () => Promise<{ readonly ms: number }>): { stop(): Promise<readonly number[]> } {
  const times: number[] = []
  let stopped = false
  const running = (async () => {
    while (!stopped) {
      times.push((await ask()).ms)
      await pause(ASK_MS)
    }
  })()
  return {
    async stop() {
      stopped = true
      await running
      return times
    },
  }
}

/** Measures until the last byte of the response. Throws on any status but 200. */
function timed(
  agent: Agent,
  url: string,
  key: string,
): Promise<{ readonly ms: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const request = get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.once('end', () => {
        const text = Buffer.concat(parts).toString()
        if (response.statusCode === 200) resolve({ ms: performance.now() - startedAt, text })
        else reject(new Error(`${url} answered ${response.statusCode}: ${text}`))
      })
    })
    request.once('error', reject)
  })
}

function p99(times: readonly number[]): number {
  return rounded(percentile(times, 0.99))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
