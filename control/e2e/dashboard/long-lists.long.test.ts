import { join } from 'node:path'
import t, { type Test } from 'tap'
import { chargeCalls, fillCalls } from '../../../fixtures/database/fill-calls.js'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import {
  type DashboardPage,
  openBrowser,
  openDashboard,
  signInOwner,
} from '../../../fixtures/service/dashboard.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * Lists of thousands of calls and people in a real browser, read to the end and back by keyboard: every row comes once, the rows that
 * are read stay where they stand, and the page does not grow. PARLEY_LIST_ROWS=10000 reads ten thousand, which takes nine minutes.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const ROWS = Number(process.env.PARLEY_LIST_ROWS ?? 3_000)
/** Most rows of a page, and pages that are kept. */
const PER_PAGE = 50
const KEPT = 10
/** Pages after which the memory of the page is measured first. */
const WARM = 2 * KEPT
/** Pages that are read on the way back: the first ones are still there. */
const BACK = 2 * KEPT

/** Rows that change while they are read. */
const CHANGED = 45

/** Numbers of the people in the order in which they are added. */
const PEOPLE = Array.from({ length: ROWS }, (_, index) => `+9198${String(index).padStart(8, '0')}`)

t.test('thousands of rows', { skip, timeout: 900_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const database = `sqlite:${join(folder, 'data', 'parley.db')}`
  await fillCalls(database, ROWS)
  const [number] = (await service.send('GET', '/v1/numbers')).body.data as Json[]
  const campaign = await service.api('POST', '/v1/campaigns', {
    name: 'Reminders',
    agentId: number?.agentId,
    numberId: number?.id,
  })
  const imported = await fetch(`${service.httpUrl}/v1/campaigns/${campaign.id}/recipients/import`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${service.key}`, 'content-type': 'text/csv', connection: 'close' },
      'idempotency-key': 'people',
    },
    body: `phone\n${PEOPLE.join('\n')}\n`,
  })
  t.match(await imported.json(), { data: { imported: ROWS, rejected: [] } })

  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const dashboard = await openDashboard(browser, url, { language: 'en', colours: 'light', width: 1440 })
  await signInOwner(dashboard.page, service)

  await dashboard.show('test/calls')
  await readThrough(t, dashboard, 'Calls', PEOPLE.toReversed())
  // More rows change at once than the page reads at once.
  const listed = dashboard.page.getByRole('region', { name: 'Calls', exact: true })
  const links = await listed.locator('tbody a').evaluateAll((all) => all.map(String))
  const changed = links.slice(0, CHANGED).map((link) => link.split('/').at(-1) ?? '')
  await chargeCalls(database, changed, 1234)
  await until(async () => (await listed.getByText('₹12.34', { exact: true }).count()) === CHANGED, {
    everyMs: 100,
  })
  await dashboard.show(`test/campaigns/${campaign.id}`)
  await readThrough(t, dashboard, 'People', PEOPLE)

  // The progress of a running campaign does not take the rows away that are read.
  const { page } = dashboard
  const more = page.getByRole('button', { name: 'Show more' })
  const rows = page.getByRole('region', { name: 'People', exact: true }).locator('tbody tr')
  await page.reload()
  await more.click()
  await until(async () => (await rows.count()) === 2 * PER_PAGE, { everyMs: 50 })
  await page.route(new RegExp(`/v1/campaigns/${campaign.id}$`), async (route) => {
    const answer = await route.fetch()
    const { data } = (await answer.json()) as { data: Json }
    const progress = { ...(data.progress as Json), settled: 7, dialed: 7 }
    await route.fulfill({ response: answer, json: { data: { ...data, progress } } })
  })
  await service.api('PATCH', `/v1/campaigns/${campaign.id}`, { name: 'Reminders of November' })
  await page.getByText(`7 of ${ROWS} people done`).waitFor()
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
  t.equal(await rows.count(), 2 * PER_PAGE)
  t.same(dashboard.faults, [])
  await dashboard.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

/** Looks at the rows of a list in the page: their numbers, and where the row `number` stands. */
const LOOK = `(name, number) => {
  const rows = [...document.querySelectorAll('section[aria-label="' + name + '"] tbody tr')]
  const numbers = rows.map(({ textContent }) => /\\+9198\\d{8}/.exec(textContent)?.[0] ?? '')
  const row = rows[numbers.indexOf(number)]
  return {
    numbers,
    top: row === undefined ? null : row.getBoundingClientRect().top,
    focus: document.activeElement.textContent,
  }
}`
interface Look {
  readonly numbers: readonly string[]
  readonly top: number | null
  readonly focus: string
}

/** Reads a list by the keyboard to its end, and back beyond the rows that were kept. */
async function readThrough(
  t: Test,
  { page, audit }: DashboardPage,
  name: string,
  expected: readonly string[],
) {
  const look = (number = '') =>
    page.evaluate<Look>(`(${LOOK})(${JSON.stringify(name)}, ${JSON.stringify(number)})`)
  const metrics = await page.context().newCDPSession(page)
  await metrics.send('Performance.enable')
  const memory = async () => {
    await metrics.send('HeapProfiler.collectGarbage')
    const named = new Map(
      (await metrics.send('Performance.getMetrics')).metrics.map((row) => [row.name, row.value]),
    )
    return { heap: named.get('JSHeapUsedSize') ?? 0, nodes: named.get('Nodes') ?? 0 }
  }
  const faults: string[] = []
  let warm = { heap: 0, nodes: 0 }
  for (const way of ['Show more', 'Show earlier rows'] as const) {
    const down = way === 'Show more'
    const edge = (rows: readonly string[]) => (down ? rows.at(-1) : rows[0]) ?? ''
    await page.getByRole('button', { name: way }).focus()
    let at = edge((await look()).numbers)
    for (let loads = 1; at !== edge(expected) && (down || loads <= BACK); loads++) {
      // A reader has the end of the rows before the eyes.
      await page.evaluate("document.activeElement.scrollIntoView({ block: 'nearest' })")
      const { top } = await look(at)
      await page.keyboard.press('Enter')
      await until(async () => edge((await look()).numbers) !== at, { everyMs: 50 })
      const { numbers, top: stands, focus } = await look(at)
      at = edge(numbers)
      const first = expected.indexOf(numbers[0] ?? '')
      const fault = (text: string) => faults.push(`${name}, ${way}, load ${loads}: ${text}`)
      if (numbers.some((number, index) => number !== expected[first + index]))
        fault('rows are not as expected')
      if (stands === null) fault('the row that was read is gone')
      else if (Math.abs(stands - (top ?? Number.NaN)) > 1) fault('the row that was read moved')
      if (numbers.length > KEPT * PER_PAGE) fault(`${numbers.length} rows are kept`)
      if (at !== edge(expected) && focus !== way) fault('the button lost the focus')
      if (down && loads === WARM) warm = await memory()
    }
    if (!down) continue
    await page.getByRole('button', { name: way }).waitFor({ state: 'detached' })
    t.equal(
      await page.locator('main section:focus').getAttribute('aria-label'),
      name,
      'the list has the focus',
    )
    const end = await memory()
    t.ok(end.heap < 1.3 * warm.heap, `${end.heap} bytes after ${warm.heap}`)
    t.ok(end.nodes < 1.3 * warm.nodes, `${end.nodes} nodes after ${warm.nodes}`)
    t.same(await audit(), [], `${name}, far down`)
  }
  t.same(faults, [])
  await page.evaluate('scrollTo(0, 0)')
  await page.keyboard.press('PageDown')
  await until(() => page.evaluate<boolean>('scrollY > innerHeight / 2'), { everyMs: 50 })
}
