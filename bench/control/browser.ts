import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openDatabase } from '../../control/db/database.js'
import { chargeCalls, fillCalls } from '../../fixtures/database/fill-calls.js'
import { until } from '../../fixtures/host/until.js'
import { BrowserPhone, openPhoneBrowser, writeTone } from '../../fixtures/service/browser-phone.js'
import { CHROMIUM } from '../../fixtures/service/chromium.js'
import { startService, temporaryFolder } from '../../fixtures/service/cli.js'
import { openDashboard, signIn } from '../../fixtures/service/dashboard.js'
import type { Json } from '../../fixtures/service/service.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured, part } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { judgedTimes, type Timed } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import {
  CALLS as LIVE_CALLS,
  openStreams,
  ROOT_KEY,
  STREAMS,
  signIn as signInPeople,
} from './live-streams.js'

/** Fewer than the 30 tickets that a person may ask for in a minute. */
const CALLS = 28
const CALLS_IN_TABLE = 100_000
/** Pages of the list that are loaded before it scrolls: as many as it keeps. */
const PAGES = 10
const SCROLLED_FRAMES = 600
/** A browser that draws 60 frames a second begins one at this interval (ms). */
const FRAME_MS = 1000 / 60
const TONE_HZ = 1_100
const VIEW = { language: 'en', colours: 'light', width: 1440 } as const

export const BROWSER_IDS = ['Browser_setup', 'Browser_scroll', 'Browser_scroll@skipped'] as const

/**
 * Measures the dashboard in Chromium beside the service: from the click that calls an agent to audio both ways (packets
 * received and sent), and the frames of a list of calls that scrolls, in an organization with 100,000 of them. Meanwhile 200 of its
 * rows change once a second, and 50 streams follow the changes, that of the page included.
 */
export async function measureBrowser(probe: Probe): Promise<Measured[]> {
  if (CHROMIUM === null) return BROWSER_IDS.map((id) => part(id, { n: 0 }, { missing: 'chromium' }))
  const teardowns: (() => Promise<void>)[] = []
  const t = { teardown: (run: () => Promise<void>) => teardowns.unshift(run) }
  try {
    const folder = await temporaryFolder(t)
    const service = await startService(t, folder, { env: { PARLEY_ROOT_KEY: ROOT_KEY } })
    const databaseUrl = `sqlite:${join(folder, 'data', 'parley.db')}`
    const ids = await fillCalls(databaseUrl, CALLS_IN_TABLE)
    const browser = await openPhoneBrowser(CHROMIUM, writeTone(folder, TONE_HZ))
    teardowns.unshift(() => browser.close())
    const url = `${service.httpUrl}/dashboard/`
    const [, password = ''] = await service.cli.complained(/Owner +owner@localhost, password (\S+)/)
    const { page, show } = await openDashboard(browser, url, VIEW)
    const phone = await BrowserPhone.watch(page)
    await signIn(page, url, 'owner@localhost', password)
    const [agent] = (await service.send('GET', '/v1/agents')).body.data as Json[]
    await show(`test/agents/${agent?.id}`)
    const calls = await callAgain(page, phone)
    await show('test/calls')
    const rows = await loadRows(page)
    const { frames, skipped } = await whileCallsChange(
      databaseUrl,
      service.httpUrl,
      ids.slice(-LIVE_CALLS),
      () => scroll(page),
    )
    const { late } = await probe.judge()
    const row = (id: string, timed: readonly Timed[], more: Readonly<Record<string, unknown>>) => {
      const times = judgedTimes(late, timed)
      const all = timed.map(({ ms }) => ms)
      const context = {
        ...more,
        leftOut: timed.length - times.length,
        p99OfAll: rounded(percentile(all, 0.99)),
      }
      if (times.length === 0) return figure(id, { n: 0 }, context)
      return figure(
        id,
        {
          p50: rounded(percentile(times, 0.5)),
          p99: rounded(percentile(times, 0.99)),
          max: rounded(maximum(times)),
          n: times.length,
        },
        context,
      )
    }
    return [
      row('Browser_setup', calls, {}),
      row('Browser_scroll', frames, { rows, calls: CALLS_IN_TABLE }),
      figure(
        'Browser_scroll@skipped',
        { n: frames.length, value: rounded((100 * skipped) / frames.length) },
        {},
      ),
    ]
  } finally {
    for (const run of teardowns) await run()
  }
}

/** Calls the agent again and again. The times begin with the click. */
async function callAgain(page: Page, phone: BrowserPhone): Promise<readonly Timed[]> {
  const times: Timed[] = []
  for (let call = 0; call <= CALLS; call++) {
    const atMs = systemClock.now()
    const ms = await page.evaluate<number>(`new Promise((resolve) => {
      const before = watched.peers.length
      const startedAt = performance.now()
      ;[...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Talk').click()
      const look = async () => {
        const peer = watched.peers[before]
        const stats = peer === undefined ? [] : [...(await peer.getStats()).values()]
        const received = stats.find(({ type }) => type === 'inbound-rtp')?.packetsReceived ?? 0
        const sent = stats.find(({ type }) => type === 'outbound-rtp')?.packetsSent ?? 0
        if (received > 0 && sent > 0) resolve(performance.now() - startedAt)
        else setTimeout(look, 5)
      }
      look()
    })`)
    await page.getByText('You are talking to the agent.').waitFor()
    await phone.hangUp()
    // The first call loads the code of the telephone.
    if (call > 0) times.push({ atMs, ms })
  }
  return times
}

/** Loads pages of the list. Returns the number of rows that it keeps. */
async function loadRows(page: Page): Promise<number> {
  const rows = page.locator('tbody tr')
  const last = () => rows.last().textContent()
  for (let shown = 1; shown < PAGES; shown++) {
    // The list keeps ten pages, so their number does not tell that another one came.
    const before = await last()
    await page.getByRole('button', { name: 'Show more' }).click()
    await until(async () => (await last()) !== before, { everyMs: 20 })
  }
  return await rows.count()
}

/** Runs `measured` while these calls change once a second and the streams follow them. */
async function whileCallsChange<T>(
  databaseUrl: string,
  base: string,
  ids: readonly string[],
  measured: () => Promise<T>,
): Promise<T> {
  const database = openDatabase(databaseUrl, silentLog)
  let ended = false
  const change = async (): Promise<void> => {
    for (let second = 1; !ended; second++) {
      await chargeCalls(databaseUrl, ids, second)
      await new Promise<void>((resolve) => systemClock.after(1000, resolve))
    }
  }
  try {
    // The page has a stream, too.
    const streams = await openStreams(base, await signInPeople(database), STREAMS - 1)
    const changing = change()
    try {
      return await measured()
    } finally {
      ended = true
      await changing
      await streams.close()
    }
  } finally {
    await database.close()
  }
}

interface Scroll {
  /** From the callback of one frame to that of the next. */
  readonly frames: readonly Timed[]
  /** Number of frames before which the browser, by its own timestamps, began none for more than one and a half intervals. */
  readonly skipped: number
}

/** Scrolls up and down. */
async function scroll(page: Page): Promise<Scroll> {
  const fromMs = systemClock.now()
  const { ends, begins } = await page.evaluate<{
    ends: number[]
    begins: number[]
  }>(`new Promise((resolve) => {
    const ends = []
    const begins = []
    const startedAt = performance.now()
    let step = 60
    const frame = (begin) => {
      begins.push(begin)
      ends.push(performance.now() - startedAt)
      scrollBy(0, step)
      if (scrollY <= 0) step = 60
      if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) step = -60
      if (ends.length > ${SCROLLED_FRAMES}) resolve({ ends, begins })
      else requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })`)
  const frames = ends.slice(1).map((end, index) => {
    const begin = ends[index] ?? end
    return { atMs: fromMs + begin, ms: end - begin }
  })
  const isSkipped = (begin: number, index: number) => begin - (begins[index] ?? begin) > 1.5 * FRAME_MS
  return { frames, skipped: begins.slice(1).filter(isSkipped).length }
}
