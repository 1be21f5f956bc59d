import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { POLL_MS, REQUEST_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { type StartedService, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import {
  type DashboardPage,
  openBrowser,
  openDashboard,
  signInOwner,
  type View,
} from '../../../fixtures/service/dashboard.js'
import { coreStates, longList, twoEditors } from '../../../fixtures/service/dashboard-states.js'
import type { Json } from '../../../fixtures/service/service.js'
import { projectRoot } from '../../../media/base/project-root.js'
import { E164, oneLine } from '../../base/schemas.js'
import { Gstin, Pincode } from '../../billing/billing-details.js'
import { validate } from '../../http/validate.js'

/*
 * The dashboard in a real browser against a running service: the way of a newcomer from the sign-in to a finished test
 * call, and every screen against WCAG 2.2 AA.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const FIRST_SCREEN_BYTES = 190_000
/** Each is empty but for the agent and the number of the start. The long test opens them with data. */
const SCREENS = [
  '',
  'live-calls',
  'calls',
  'agents',
  'knowledge',
  'numbers',
  'trunks',
  'destinations',
  'campaigns',
  'campaigns/new',
  'callbacks',
  'compliance',
  'consents',
  'dnc',
  'wallet',
  'members',
  'settings',
  'keys',
  'webhooks',
  'events',
] as const

t.test('the code of the first screen fits into 190 kB', (t) => {
  const folder = join(projectRoot, '.build', 'dashboard')
  type Entry = { readonly file: string; readonly imports?: readonly string[] }
  const manifest: Readonly<Record<string, Entry>> = JSON.parse(
    readFileSync(join(folder, '.vite', 'manifest.json'), 'utf8'),
  )
  for (const screen of ['SignIn', 'Overview']) {
    const loaded = new Set<string>()
    const load = (name: string): void => {
      if (loaded.has(name)) return
      loaded.add(name)
      for (const other of manifest[name]?.imports ?? []) load(other)
    }
    load('index.html')
    load(`src/screens/${screen}.tsx`)
    const bytes = [...loaded].map(
      (name) => gzipSync(readFileSync(join(folder, manifest[name]?.file ?? ''))).length,
    )
    const total = bytes.reduce((sum, size) => sum + size, 0)
    t.ok(total <= FIRST_SCREEN_BYTES, `${screen}: ${total} bytes of JavaScript (gzip)`)
  }
  t.end()
})

t.test('sentences of the service that have no code are said in Hindi', (t) => {
  const read = (path: string) => readFileSync(join(projectRoot, 'control', path), 'utf8')
  const known = read('dashboard/src/messages/hi-words.ts')
  const said = [
    ...read('campaigns/target.ts').matchAll(/problem: '([^']+)'/g),
    ...read('compliance/consent-store.ts').matchAll(/const message = '([^']+)'/g),
    ...read('compliance/consent-rules.ts').matchAll(/message: [`']([^`']+)[`']/g),
    ...read('net/egress.ts').matchAll(/return \{ reason: [`']([^`']+)[`']/g),
    ...read('organization/calling-hours.ts').matchAll(/message: '(endMinute[^']+)'/g),
  ].map(([, sentence = '']) =>
    sentence
      .replace(/\$\{safe\}/, 'https')
      .replaceAll(/\$\{[^}]+\}|\d+/g, ' n ')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replaceAll(/^_|_$/g, ''),
  )
  t.equal(said.length, 24)
  t.same(
    said.filter((key) => !known.includes(`  ${key}:`)),
    [],
  )
  t.end()
})

t.test('in a browser', { skip, timeout: 580_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  // For a webhook endpoint that refuses connections.
  const service = await startService(t, folder, { env: { PARLEY_ALLOW_PRIVATE_URLS: 'true' } })
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const first = await openDashboard(browser, url, WIDE)
  await signInOwner(first.page, service)
  const state = await first.page.context().storageState()
  await first.close()

  const run = async ({ task, view, refused = /^$/ }: Task): Promise<void> => {
    const dashboard = await openDashboard(browser, url, view, state)
    // A refusal is a failed request to the browser.
    const faults = () => dashboard.faults.filter((fault) => !refused.test(fault))
    try {
      await task(t, dashboard, service)
    } catch (error) {
      const state = await stopped(dashboard.page)
      const reason = error instanceof Error ? error.stack : String(error)
      const name = `${task.name} (${view.language}, ${view.width} px)`
      throw new Error([`${name}: ${reason}`, ...faults(), state].join('\n'))
    }
    t.same(
      faults(),
      [],
      `${task.name}: no error, no violation of the security policy, no request to another host`,
    )
    await dashboard.close()
  }
  const waiting = [...TASKS]
  const worker = async (): Promise<void> => {
    for (let tasks = waiting.shift(); tasks !== undefined; tasks = waiting.shift()) {
      for (const task of tasks) await run(task)
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: PAGES }, worker))
  t.same(
    ended.flatMap((task) => (task.status === 'rejected' ? [String(task.reason)] : [])),
    [],
    'no task stopped on its way',
  )

  await t.test('a signed-out browser is sent to the sign-in, in its language', async (t) => {
    const dashboard = await openDashboard(browser, url, { language: 'hi', colours: 'dark', width: 320 })
    await dashboard.page.goto(`${url}test/calls`)
    await dashboard.page.getByRole('button', { name: 'साइन इन करें' }).waitFor()
    t.same(await dashboard.audit(), [])
    await dashboard.close()
  })
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

/** Returns the address and the content of a page whose task stopped, and closes it. Its routes may still wait for the task. */
async function stopped(page: DashboardPage['page']): Promise<string> {
  const at = page.url()
  const shown = await page.ariaSnapshot().catch((unread: Error) => unread.message)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.context().close()
  return `${at} showed:\n${shown}`
}

interface Task {
  readonly task: (t: Test, dashboard: DashboardPage, service: StartedService) => Promise<void>
  readonly view: View
  /** Refusals that the task provokes, as the browser logs them. */
  readonly refused?: RegExp
}

const WIDE: View = { language: 'en', colours: 'light', width: 1440 }
const NARROW: View = { language: 'en', colours: 'light', width: 320 }
/** Pages that are open at the same time: a page mostly waits for answers. */
const PAGES = 3
/** Tasks of a line run one after the other: they change the same things. */
const TASKS: readonly (readonly Task[])[] = [
  [
    { task: newcomer, view: WIDE },
    { task: followed, view: WIDE },
    { task: fallback, view: { language: 'hi', colours: 'light', width: 320 } },
    { task: webhooks, view: WIDE, refused: /status of 4(00|09)/ },
  ],
  [{ task: coreStates, view: NARROW, refused: /status of (403|404|500)/ }],
  [{ task: screens, view: WIDE }],
  [{ task: screens, view: { language: 'hi', colours: 'dark', width: 320 } }],
  [{ task: settings, view: { language: 'en', colours: 'dark', width: 320 }, refused: /status of 400/ }],
  [{ task: twoEditors, view: WIDE, refused: /status of 409/ }],
  [{ task: longList, view: { language: 'hi', colours: 'light', width: 360 } }],
  [
    {
      task: refusals,
      view: { language: 'hi', colours: 'light', width: 320 },
      refused: /status of 4(00|03|22)/,
    },
  ],
  [{ task: keys, view: WIDE }],
  [{ task: problems, view: NARROW }],
]

/**
 * Every screen. One view opens each address, another one follows links; each of them audits every other screen. The long test audits
 * all in every view.
 */
async function screens(t: Test, dashboard: DashboardPage): Promise<void> {
  const wide = (dashboard.page.viewportSize()?.width ?? 0) > NARROW.width
  const titles = new Set<string | null>()
  for (const [place, screen] of SCREENS.entries()) {
    if (wide || titles.size === 0) await dashboard.show(`test/${screen}`)
    else await dashboard.move(`test/${screen}`)
    titles.add(await dashboard.page.locator('main h1').textContent())
    if ((place % 2 === 0) === wide)
      t.same(await dashboard.audit(), [], `${screen}: ${wide ? 'wide' : 'narrow'}`)
  }
  t.equal(titles.size, SCREENS.length, 'each is another screen')
}

/** The first screen names what is wrong, and its remedy. */
async function problems(t: Test, { page, show, audit }: DashboardPage): Promise<void> {
  await page.route('**/v1/overview', async (route) => {
    const answer = await route.fetch()
    const body = (await answer.json()) as { data: object }
    const subject = { type: 'number', id: 'num_1', label: '+919000000100' }
    const plain = { reason: null, counts: {} }
    const problems = [
      {
        code: 'number_not_reachable',
        subject,
        detail: 'The route was refused.',
        ...plain,
        remedy: 'Unused.',
      },
      {
        code: 'of_a_later_release',
        subject: null,
        detail: null,
        ...plain,
        remedy: 'What the service says.',
      },
    ]
    await route.fulfill({ response: answer, json: { ...body, data: { ...body.data, problems } } })
  })
  await show('test/')
  await page.getByText('The route was refused. Read the reason').waitFor()
  await page.getByText('What the service says.').waitFor()
  t.same(await audit(), [])
}

/** The agent that takes over from a lost bot. */
async function fallback(t: Test, { page, show, audit }: DashboardPage): Promise<void> {
  // The number of the start is answered by an agent; the screen sees it as one of a bot.
  await page.route(/\/v1\/numbers(\?.*)?$/, async (route) => {
    const answer = await route.fetch()
    const body = (await answer.json()) as { data: object[] }
    const data = body.data.map((number) => ({ ...number, routingMode: 'byo_ws' }))
    await route.fulfill({ response: answer, json: { ...body, data } })
  })
  await show('test/numbers')
  const dialog = page.getByRole('dialog')
  const choose = async (fallback: string) => {
    await page.getByRole('button', { name: /बदलें$/ }).first().click()
    await dialog.getByLabel('बॉट तक न पहुँच पाने या उससे संपर्क टूटने पर').selectOption(fallback)
  }
  const save = async () => {
    const answered = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await dialog.getByRole('button', { name: 'सहेजें' }).click()
    const { data } = (await (await answered).json()) as { data: { byoFallback: string; agentId: string } }
    await dialog.waitFor({ state: 'detached' })
    return data
  }
  await choose('agent')
  const agent = dialog.getByLabel('संभालने वाला एजेंट')
  await agent.selectOption({ index: 1 })
  const chosen = await agent.inputValue()
  t.same(await audit(), [], 'the dialog')
  t.match(await save(), { byoFallback: 'agent', agentId: chosen })
  await choose('hangup')
  await agent.waitFor({ state: 'detached' })
  t.match(await save(), { byoFallback: 'hangup', agentId: chosen })
}

/** Every kind of sentence that says what is wrong with a field. */
const Wrong = z.object({
  required: z.string(),
  type: z.string(),
  short: z.string().min(3),
  long: z.string().max(3),
  exact: z.string().length(3),
  least: z.int().min(1),
  most: z.int().max(5),
  above: z.number().gt(0),
  below: z.number().lt(0),
  whole: z.int(),
  few: z.array(z.string()).min(2),
  many: z.array(z.string()).max(1),
  choice: z.enum(['a', 'b']),
  form: z.string().regex(/^[a-z]+$/),
  step: z.number().multipleOf(5),
  mail: z.email(),
  time: z.iso.datetime({ offset: true }),
  e164: E164,
  line: oneLine(80),
  pincode: Pincode,
  gstin: Gstin,
})

/** Refusals of the service are said in the language of the page, at the fields. */
async function refusals(t: Test, { page, show, audit }: DashboardPage): Promise<void> {
  const wrong = {
    ...{ type: 3, short: 'a', long: 'abcd', exact: 'a', least: 0, most: 9, above: 0, below: 0, whole: 1.5 },
    ...{
      few: [],
      many: ['a', 'b'],
      choice: 'c',
      form: 'A',
      step: 3,
      mail: 'x',
      time: 'x',
      e164: '1',
      line: '\n',
    },
    ...{ pincode: '1', gstin: '29AAGCB7383J1Z5' },
  }
  const validated = validate(Wrong, wrong, 'body')
  const issues = validated.ok ? [] : validated.issues
  t.same(issues.map(({ path }) => path).toSorted(), Object.keys(Wrong.shape).toSorted())
  const answers: object[] = [
    {
      type: 'invalid_request',
      code: 'validation_error',
      message: 'The request is invalid.',
      details: { issues },
    },
    {
      ...{ type: 'invalid_request', code: 'unprocessable_entity', details: { path: 'scope' } },
      message: 'expiresAt must be at most 365 days after capturedAt.',
    },
    { type: 'payment_required', code: 'insufficient_funds', message: 'Of a later release.', details: {} },
  ]
  await page.route('**/v1/consent', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const error = answers.shift()
    const status = answers.length === 2 ? 400 : 422
    await route.fulfill({ status, json: { error: { ...error, request_id: 'req_1' } } })
  })
  await show('test/consents')
  await page.getByRole('button', { name: 'सहमति दर्ज करें' }).click()
  const dialog = page.getByRole('dialog')
  const alert = dialog.getByRole('alert')
  const send = () => dialog.locator('button[type=submit]').click()
  await dialog.locator('[name=e164]').fill('+919876543210')
  for (const input of await dialog.locator('input[required]:not([type=checkbox])').all()) {
    if ((await input.inputValue()) === '') await input.fill('Form')
  }
  await send()
  await alert.getByText('कुछ जानकारी सही नहीं है।').waitFor()
  await dialog.locator('[name=e164][aria-invalid=true]').waitFor()
  // Exactly: the list of reasons names the field besides, until the reason stands at its input.
  await dialog.getByText('देश कोड के साथ नंबर, जैसे +919876543210।', { exact: true }).waitFor()
  const listed = (await alert.locator('p').allTextContents()).filter((line) => /^\w+: /.test(line))
  t.equal(listed.length, issues.length - 1, 'the field that has an input is named there only')
  t.same(
    listed
      .map((line) => line.replace(/^\w+: /, '').replace('GSTIN', ''))
      .filter((line) => /[a-z]/i.test(line)),
    [],
    'no sentence is in English',
  )
  await settled(page)
  t.same(await audit(), [], 'refused fields')
  await send()
  await alert.getByText('सहमति ज़्यादा से ज़्यादा 365 दिन मान्य हो सकती है।').waitFor()
  await dialog.locator('[name=scope][aria-invalid=true]').waitFor()
  await send()
  await alert.getByText('वॉलेट में पैसे कम हैं।').waitFor()
  t.equal(await alert.locator('[lang=en]').textContent(), 'Of a later release.')
}

interface Played {
  readonly currentTime: number
}

/** A newcomer: agent, number, test call. */
async function newcomer(
  t: Test,
  { page, show, audit, resize }: DashboardPage,
  { api }: StartedService,
): Promise<void> {
  const menu = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await show('test/')
  await menu('Agents')
  await page.getByRole('button', { name: 'New agent' }).click()
  await page.getByLabel('Name').fill('Clinic')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Clinic' }).waitFor()
  await page.getByLabel('Instructions').fill('You book appointments for a clinic.')
  await page.getByLabel('First sentence, outbound').fill('Hello, this is the clinic.')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Publish' }).click()
  await Promise.all([
    // The message goes after a moment.
    page.getByText('Version 1 is live.').waitFor(),
    page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click(),
  ])
  const agent = new URL(page.url()).pathname.split('/').at(-1)
  await page.getByRole('tab', { name: 'Versions' }).click()
  await page.getByText('Published by Owner').waitFor()

  await menu('Numbers')
  await page.getByRole('button', { name: /^Edit/ }).first().click()
  await page.getByLabel('Answered by').selectOption({ label: 'Clinic' })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('cell', { name: 'Clinic' }).waitFor()

  await page.getByRole('button', { name: 'Buy a number' }).click()
  const offer = page.getByRole('dialog').getByRole('button', { name: /^Choose \+91/ })
  await offer.first().waitFor()
  t.same(await audit(), [], 'numbers for sale')
  const bought = (await offer.first().textContent())?.replace('Choose ', '') ?? ''
  await offer.first().click()
  await page.getByLabel('Label').fill('Second line')
  await page.getByRole('button', { name: /^Buy for ₹/ }).click()
  const row = page.getByRole('row', { name: bought })
  await row.getByRole('cell', { name: 'Second line' }).waitFor()
  await row.getByRole('button', { name: 'Release' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
  await row.waitFor({ state: 'detached' })

  await menu('Settings')
  await page.getByRole('tab', { name: 'Secrets and connections' }).click()
  await page.getByRole('button', { name: 'New secret' }).click()
  await page.getByLabel('Name').fill('Booking system')
  await page.getByLabel('Value').fill('token-of-the-booking-system')
  await page.getByLabel('Hosts').fill('booking.example.com')
  t.same(await audit(), [], 'a new secret')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('row', { name: 'Booking system' }).getByText('••••stem').waitFor()

  // The call must last until it is ended, however long the screens take.
  await api('PATCH', `/v1/agents/${agent}`, { callSettings: { nudges: { enabled: false } } })
  await api('POST', `/v1/agents/${agent}/publish`, {})
  await menu('Calls')
  await page.getByRole('button', { name: 'Place a call' }).click()
  await page.getByRole('dialog').getByLabel('Number to call').fill(SILENT)
  await page.getByRole('dialog').getByRole('button', { name: 'Place a call' }).click()
  await page.getByText('Hello, this is the clinic.').first().waitFor()
  await menu('Live calls')
  await page.getByRole('cell', { name: 'In progress' }).waitFor()
  await page.getByRole('region', { name: 'Live calls' }).press('ArrowDown')
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByText('Hello, this is the clinic.').waitFor()
  t.same(await audit(), [], 'what is said in a running call')
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.locator('main tbody a:focus').waitFor()
  await page.keyboard.press('e')
  await page.getByRole('dialog').getByRole('button', { name: 'End the call' }).click()
  await page.getByRole('cell', { name: 'Ended' }).waitFor()
  // The row would go after half a minute, and an audit may take as long.
  await page.getByLabel('Freeze the list').check()
  t.same(await audit(), [], 'an ended call stays for a moment')
  await page.getByRole('region', { name: 'Live calls' }).getByRole('link').first().click()
  await page.getByText('Answered', { exact: true }).waitFor()
  await page.locator('.wave.agent').waitFor()
  await page.locator('.track').click()
  const played = () => page.locator('audio').evaluate((audio) => (audio as unknown as Played).currentTime)
  await until(async () => (await played()) > 0, { everyMs: POLL_MS })
  for (const width of [320, 768, 1440]) {
    await resize(width)
    t.same(await audit(), [], `the page of a call, ${width} px`)
  }
  t.match(await page.getByRole('region', { name: 'Charges' }).textContent(), '₹')
}

/** Numbers of the sandbox: one says nothing, one talks on, one is busy. */
const SILENT = '+919000000011'
const TALKS = '+919000000009'
const BUSY = '+919000000002'

async function followed(t: Test, { page, show }: DashboardPage, { api, send }: StartedService) {
  const [number] = (await send('GET', '/v1/numbers')).body.data as Json[]
  const place = async (to: string): Promise<string> => {
    const { id } = await api('POST', '/v1/calls', { to, numberId: number?.id })
    const { status } = to === BUSY ? { status: 'ended' } : { status: 'in_progress' }
    await until(async () => (await api('GET', `/v1/calls/${id}`)).status === status, { everyMs: REQUEST_MS })
    return String(id)
  }
  const [talk = '', other = ''] = await Promise.all([place(TALKS), place(TALKS)])
  for (let calls = 0; calls < 2; calls++) await place(BUSY)
  const following: string[] = []
  await page.route(/\/v1\/calls\?|\/v1\/calls$/, async (route) => {
    const address = new URL(route.request().url())
    if (address.searchParams.has('cursor')) following.push(address.search)
    address.searchParams.set('limit', '3')
    await route.continue({ url: address.href })
  })
  await show('test/calls')
  const rows = page.locator('main tbody tr')
  await page.getByRole('button', { name: 'Show more' }).waitFor()
  // A page whose stream opens reads its lists once more, which has begun when a change has come through the stream. The first page
  // has four calls if the change came after this reading, else three. The running calls are shown with the next page at the latest.
  const first = await place(BUSY)
  await page.locator(`main tbody tr:first-child a[href$="${first}"]`).waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  const rowOf = (call: string) => rows.filter({ has: page.locator(`a[href$="${call}"]`) })
  await rowOf(other).getByText('In progress').waitFor()
  const row = rowOf(talk)
  await row.getByText('In progress').waitFor()
  t.equal(following.length, 1, 'the second page is read')
  const shown = () => rows.locator('a').evaluateAll((links) => links.map(String))
  const before = await shown()
  // A row with the focus is being read.
  await row.getByRole('link').focus()
  await api('POST', `/v1/calls/${talk}/hangup`, {})
  await row.getByText('Ended by a user or a program').waitFor()
  const newest = await place(BUSY)
  const newer = page.getByRole('button', { name: '1 new call' })
  await newer.waitFor()
  t.same(await shown(), before, 'the rows stay where they are')
  t.equal(following.length, 1, 'no later page is read again')

  // The new call is shown while the page reads another one that changed.
  let answer = (): void => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route(`**/v1/calls/${other}`, async (route) => {
    await held
    await route.continue()
  })
  const read = page.waitForRequest(`**/v1/calls/${other}`)
  await api('POST', `/v1/calls/${other}/hangup`, {})
  await read
  await newer.click()
  await page.locator(`main tbody tr:first-child a[href$="${newest}"]`).waitFor()
  answer()
  const last = await place(BUSY)
  await page.locator(`main tbody tr:first-child a[href$="${last}"]`).waitFor()
  const links = await shown()
  t.equal(new Set(links).size, links.length, 'each call is there once')
  t.equal(await page.getByRole('button', { name: /new call/ }).count(), 0)
  await page.getByLabel('Digits of a number').fill('0009')
  await until(async () => (await rows.count()) === 2, { everyMs: POLL_MS })
  await row.waitFor()
  t.match(page.url(), /search=/)
  await page.getByRole('combobox', { name: 'Result' }).selectOption('busy')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await rowOf(last).waitFor()
}

const LABELS = `[...document.querySelectorAll('[type=submit] .mantine-Button-label')]
  .every((label) => getComputedStyle(label).opacity === '1')`

/** Waits until the labels of the buttons that showed a running request are drawn again. */
async function settled(page: DashboardPage['page']): Promise<void> {
  await until(() => page.evaluate(LABELS) as Promise<boolean>, { everyMs: POLL_MS })
}

async function settings(t: Test, { page, show, audit }: DashboardPage, { api }: StartedService) {
  const { id } = await api('POST', '/v1/agents', { name: 'Desk', systemPrompt: 'You book appointments.' })
  await api('POST', `/v1/agents/${id}/publish`, {})
  const stored = () => api('GET', `/v1/agents/${id}`)
  await show(`test/agents/${id}`)
  await page.getByLabel('Instructions').fill('You help {{customer}}.')
  await page.getByText('This variable is not declared and stays empty: customer').waitFor()
  t.equal(await page.locator('mark.unknown').textContent(), '{{customer}}')
  await page.getByRole('button', { name: 'Declare' }).click()
  const closed = page.locator('details:not([open]) > summary')
  while ((await closed.count()) > 0) await closed.first().click()
  await page.getByLabel('Pace of the conversation').selectOption('patient')
  await page.getByLabel('Time to recognise it (seconds)').fill('50')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('[name="callSettings.voicemail.windowSeconds"][aria-invalid=true]').waitFor()
  await settled(page)
  t.same(await audit(), [], 'all sections, with a refused field')
  await page.getByLabel('Time to recognise it (seconds)').fill('10')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The draft has 5 changes that calls do not use yet.').waitFor()
  t.match(await stored(), {
    systemPrompt: 'You help {{customer}}.',
    inputVariables: [{ name: 'customer' }],
    callSettings: { turnTaking: { preset: 'patient' }, voicemail: { windowSeconds: 10 } },
  })

  await page.getByRole('tab', { name: 'Versions' }).click()
  const compared = page.getByRole('region', { name: 'Compare' })
  await compared.getByText('Pace of the conversation').waitFor()
  t.same(await compared.locator('ins').allTextContents(), [
    'help',
    '{{customer}}.',
    '10',
    'patient',
    'customer',
    'false',
  ])

  await page.getByRole('tab', { name: 'JSON' }).click()
  const json = page.getByLabel('All settings as JSON')
  const text = (await json.inputValue()).replace('"preset": "patient"', '"preset": "calm"')
  await json.fill(text.replace('{', '{,'))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^This is not valid JSON/).waitFor()
  await json.fill(text)
  await page.getByRole('button', { name: 'Save' }).click()
  const line = text.split('\n').findIndex((part) => part.includes('"calm"')) + 1
  await page.getByRole('button', { name: `Line ${line}: callSettings.turnTaking.preset` }).click()
  t.same(await audit(), [], 'a refused field of the JSON')
  await json.fill(text.replace('calm', 'fast'))
  await page.getByRole('button', { name: 'Save' }).click()
  await until(async () => JSON.stringify(await stored()).includes('"preset":"fast"'), { everyMs: REQUEST_MS })
}

async function webhooks(t: Test, { page, show, audit }: DashboardPage) {
  await show('test/webhooks')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill('ftp://127.0.0.1:9/hooks')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.locator('[name=url][aria-invalid=true]:focus').waitFor()
  await settled(page)
  t.same(await audit(), [], 'a refused field')
  await dialog.getByLabel('URL').fill('http://127.0.0.1:9/hooks')
  await dialog.getByRole('button', { name: 'Create' }).click()
  const secret = dialog.locator('pre')
  const first = await secret.textContent()
  await page.keyboard.press('Escape')
  // The calls of the other tasks may add rows to the deliveries.
  const endpoints = page.getByRole('region', { name: 'Webhooks', exact: true })
  const row = endpoints.getByRole('row', { name: '127.0.0.1:9' })
  await row.getByRole('button', { name: 'Disable' }).click()
  await row.getByText('Off', { exact: true }).waitFor()
  await row.getByRole('button', { name: 'Enable' }).click()
  await row.getByText('On', { exact: true }).waitFor()
  await row.getByRole('button', { name: /^Edit/ }).click()
  await dialog.getByLabel('Description').fill('Desk')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText('Desk').waitFor()
  await row.getByRole('button', { name: /^Secret/ }).click()
  await until(async () => (await secret.textContent()) === first, { everyMs: POLL_MS })
  await dialog.getByRole('button', { name: 'Replace the secret' }).click()
  await dialog.getByText(/^This is the new secret/).waitFor()
  t.not(await secret.textContent(), first)
  t.same(await audit(), [], 'the secret')
  await page.keyboard.press('Escape')

  // The program that is shown verifies the test vector of docs/webhooks.md.
  const program = await page.getByRole('tabpanel', { name: 'Node.js' }).locator('pre').textContent()
  const module = `data:text/javascript,${encodeURIComponent(program ?? '')}`
  const { verifyWebhook } = (await import(module)) as {
    verifyWebhook(headers: object, body: string, secret: string, now: number): boolean
  }
  const headers = {
    'x-svc-timestamp': '1700000000',
    'x-svc-signature': 'v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91',
  }
  t.ok(verifyWebhook(headers, '{}', 'whsec_test', 1_700_000_010))
  t.notOk(verifyWebhook(headers, '{ }', 'whsec_test', 1_700_000_010))
  t.notOk(verifyWebhook(headers, '{}', 'whsec_test', 1_700_000_310))

  await row.getByRole('button', { name: /^Delete/ }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })

  await show('test/events')
  await page.getByRole('link', { name: 'call.completed' }).first().click()
  await dialog.getByText('"type": "call.completed"').waitFor()
  t.match(page.url(), /id=evt_/)
  t.same(await audit(), [], 'an event')
  await dialog.getByRole('button', { name: 'Send to all subscribed endpoints' }).click()
  await dialog.getByText('No enabled endpoint is subscribed to this event type.').waitFor()
}

async function keys(t: Test, { page, show, audit }: DashboardPage) {
  await page.route(/\/v1\/auth\/session$/, async (route) => {
    const answer = await route.fetch()
    const text = (await answer.text()).replaceAll('"role":"owner"', '"role":"viewer"')
    await route.fulfill({ response: answer, body: text })
  })
  await show('test/')
  await page.getByText(/^Your role is viewer/).waitFor()
  await page.unroute(/\/v1\/auth\/session$/)
  await show('test/')
  const calls = page.getByRole('heading', { name: 'Calls', level: 1 })
  // Two keys are a pair if they come soon one after the other, which a host that stands still may prevent.
  const pair = async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    return page.url().endsWith('/test/calls')
  }
  await until(pair, { everyMs: 250 })
  // A new screen gives the focus to its title.
  await calls.and(page.locator(':focus')).waitFor()
  await page.keyboard.press('/')
  const filter = page.getByLabel('Digits of a number')
  await page.locator('[data-filter]:focus').waitFor()
  // A field takes its keys.
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  t.equal(await filter.inputValue(), 'ga')
  await filter.fill('')
  await calls.focus()
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Single keys').waitFor()
  t.same(await audit(), [], 'the list of keys')
  await dialog.getByLabel('Single keys').click()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.keyboard.press('Control+k')
  await dialog.getByLabel(/digits of a call/).fill('agt_01JZ0000000000000000000000')
  await dialog.getByRole('option', { name: 'agt_01JZ' }).waitFor()
  await dialog.getByLabel(/digits of a call/).fill('Place')
  await page.keyboard.press('Enter')
  await dialog.getByText('Number to call').waitFor()
}
