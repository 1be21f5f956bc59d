import t, { type Test } from 'tap'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { type StartedService, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import {
  type DashboardPage,
  openBrowser,
  openDashboard,
  signIn,
  type View,
} from '../../../fixtures/service/dashboard.js'
import { ID, STATES, states } from '../../../fixtures/service/dashboard-states.js'

/*
 * States of the dashboard that a service under test has seldom: reads that fail, are slow, find nothing or are refused, two
 * people on the same draft, and a list with many rows.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const TASKS: readonly { readonly task: Task; readonly view: View }[] = [
  { task: twoEditors, view: { language: 'en', colours: 'light', width: 1440 } },
  { task: longList, view: { language: 'hi', colours: 'light', width: 360 } },
  { task: coreStates, view: { language: 'en', colours: 'light', width: 320 } },
]
type Task = (t: Test, dashboard: DashboardPage, service: StartedService) => Promise<void>

t.test('in a browser', { skip, timeout: 300_000 }, async (t) => {
  const service = await startService(t, await temporaryFolder(t))
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const [, password = ''] = await service.cli.complained(/Owner +owner@localhost, password (\S+)/)
  const first = await openDashboard(browser, url, { language: 'en', colours: 'light', width: 1440 })
  await signIn(first.page, url, 'owner@localhost', password)
  const state = await first.page.context().storageState()
  await first.close()
  // Side by side: a page mostly waits for answers.
  const ended = await Promise.allSettled(
    TASKS.map(async ({ task, view }) => {
      const dashboard = await openDashboard(browser, url, view, state)
      await task(t, dashboard, service)
      // A refusal is a failed request to the browser.
      t.same(
        dashboard.faults.filter((fault) => !/status of (403|404|409|500)/.test(fault)),
        [],
        task.name,
      )
      await dashboard.close()
    }),
  )
  t.same(
    ended.flatMap((task) => (task.status === 'rejected' ? [String(task.reason)] : [])),
    [],
    'no task stopped on its way',
  )
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

/** The screens whose parts all others have. The long test looks at every screen. */
const CORE: readonly string[] = [
  '',
  'calls',
  'campaigns/new',
  'compliance',
  'wallet',
  'keys',
  `agents/agt_${ID}`,
]

function coreStates(t: Test, dashboard: DashboardPage): Promise<void> {
  return states(
    t,
    dashboard,
    STATES.filter(({ path }) => CORE.includes(path)),
  )
}

/** Two pages edit the same draft: nothing that was saved is lost without a choice. */
async function twoEditors(t: Test, { page, show, audit }: DashboardPage, { api }: StartedService) {
  const { id } = await api('POST', '/v1/agents', { name: 'Shared', systemPrompt: 'You are brief.' })
  const stored = () => api('GET', `/v1/agents/${id}`)
  const other = await page.context().newPage()
  await show(`test/agents/${id}`)
  await other.goto(page.url())
  const saved = async (on: typeof page) => {
    await on.getByRole('button', { name: 'Save' }).click()
    await on.getByText('You have unsaved changes.').waitFor({ state: 'detached' })
  }
  const write = (on: typeof page, field: string, text: string) => on.getByLabel(field).fill(text)

  // Both begin with the same draft, and change different settings.
  await write(page, 'Description', 'The desk')
  await write(other, 'Instructions', 'You are polite.')
  await saved(other)
  await saved(page)
  await page.getByText('Somebody else changed other settings meanwhile, which stay.').waitFor()
  t.match(await stored(), { description: 'The desk', systemPrompt: 'You are polite.' })

  // Both change the same setting, and one of them another one besides.
  await other.reload()
  await write(other, 'Instructions', 'You are polite and quick.')
  await write(page, 'Instructions', 'You are polite and slow.')
  await write(page, 'Description', 'The night desk')
  await saved(other)
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('dialog', { name: 'Somebody else changed the same settings' })
  await dialog.waitFor()
  t.same(await dialog.locator('del, ins').allTextContents(), ['quick.', 'slow.'])
  t.same(await audit(), [], 'the choice')
  t.match(await stored(), { description: 'The desk', systemPrompt: 'You are polite and quick.' })
  await dialog.getByRole('button', { name: 'Take the stored values' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('Instructions').inputValue(), 'You are polite and quick.')
  await saved(page)
  t.match(await stored(), { description: 'The night desk', systemPrompt: 'You are polite and quick.' })

  await other.reload()
  await write(other, 'Instructions', 'You are quick.')
  await write(page, 'Instructions', 'You are slow.')
  await saved(other)
  await page.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('button', { name: 'Save mine instead' }).click()
  await page.getByText('You have unsaved changes.').waitFor({ state: 'detached' })
  t.match(await stored(), { description: 'The night desk', systemPrompt: 'You are slow.' })
  await other.close()
}

/** Rows of the long list: three times what is kept. */
const MANY = 1_500
const PER_PAGE = 50

/** A list that is read to its end keeps a part of its rows. An entry of an erased person shows no digest. */
async function longList(t: Test, { page, show, audit }: DashboardPage) {
  const asked: number[] = []
  let change = (): void => {}
  const changed = new Promise<void>((resolve) => {
    change = resolve
  })
  // The only change comes while the second page is on its way.
  let told = false
  await page.route('**/v1/live*', async (route) => {
    await changed
    const events = [
      ['hello', { resumed: true }],
      ['changed', { kind: 'wallet', id: 'wal_1' }],
    ]
    const body = told
      ? ''
      : events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('')
    told = true
    await route.fulfill({ contentType: 'text/event-stream', body })
  })
  await page.route('**/v1/wallet/ledger*', async (route) => {
    const start = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    asked.push(start)
    if (start === PER_PAGE) {
      const again = page.waitForRequest(/\/v1\/wallet$/)
      change()
      await again
    }
    const data = Array.from({ length: PER_PAGE }, (_, index) => ({
      id: `led_${start + index}`,
      type: 'call',
      description: `Row ${start + index}`,
      reference: { type: 'number', id: 'num_1' },
      amountPaise: -500,
      balanceAfterPaise: 1_000_000,
      createdAt: '2026-11-26T06:30:00.000Z',
    }))
    const end = start + PER_PAGE
    const pagination = { cursor: end < MANY ? String(end) : null, hasMore: end < MANY }
    await route.fulfill({ json: { data, meta: { pagination } } })
  })
  await show('test/wallet')
  const rows = page.getByRole('region', { name: 'खाता बही' }).locator('tbody tr')
  const more = page.getByRole('button', { name: 'और दिखाएँ' })
  for (let read = PER_PAGE; read < MANY; read += PER_PAGE) {
    await more.click()
    await page.getByText(`Row ${read + PER_PAGE - 1}`, { exact: true }).waitFor()
  }
  await more.waitFor({ state: 'detached' })
  t.equal(await rows.count(), 10 * PER_PAGE)
  t.match(await rows.first().textContent(), `Row ${MANY - 10 * PER_PAGE}`)
  await page.getByRole('button', { name: 'पहले की पंक्तियाँ दिखाएँ' }).click()
  await page.getByText(`Row ${MANY - 11 * PER_PAGE}`, { exact: true }).waitFor()
  t.equal(await rows.count(), 10 * PER_PAGE)
  t.equal(asked.length, MANY / PER_PAGE + 1, 'no page is read twice')

  await page.route('**/v1/dnc*', async (route) => {
    const entry = {
      ...{ id: 'dnc_1', e164: `erased-${'0123456789abcdef'.repeat(4)}`, source: 'opt_out', reason: null },
      ...{ environment: 'test', callId: null, active: true, lockedUntil: null, expiresAt: null },
      createdAt: '2026-11-26T06:30:00.000Z',
    }
    await route.fulfill({ json: { data: [entry], meta: { pagination: { hasMore: false } } } })
  })
  await show('test/dnc')
  await page.getByRole('cell', { name: 'मिटाया गया व्यक्ति …abcdef', exact: true }).waitFor()
  t.notMatch(await page.locator('main').textContent(), '0123456789')
  t.same(await audit(), [], 'an entry of an erased person')
}
