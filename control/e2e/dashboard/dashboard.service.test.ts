import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { REQUEST_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import type { StartedService } from '../../../fixtures/service/cli.js'
import type { DashboardPage } from '../../../fixtures/service/dashboard.js'
import { coreStates, longList, twoEditors } from '../../../fixtures/service/dashboard-states.js'
import { NARROW, runTasks, settled, type Task, WIDE } from '../../../fixtures/service/dashboard-tasks.js'
import { projectRoot } from '../../../media/base/project-root.js'
import { E164, oneLine } from '../../base/schemas.js'
import { Gstin, Pincode } from '../../billing/billing-details.js'
import { validate } from '../../http/validate.js'

/*
 * The dashboard in a real browser against a running service: every screen against WCAG 2.2 AA, states, refusals, settings and keys.
 * The ways of a newcomer are in newcomer.service.test.ts.
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
  'security',
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
  await runTasks(t, TASKS, async ({ url, open }) => {
    await t.test('a signed-out browser is sent to the sign-in, in its language', async (t) => {
      const dashboard = await open({ language: 'hi', colours: 'dark', width: 320 })
      await dashboard.page.goto(`${url}test/calls`)
      await dashboard.page.getByRole('button', { name: 'साइन इन करें' }).waitFor()
      t.same(await dashboard.audit(), [])
      await dashboard.close()
    })
  })
})

const TASKS: readonly (readonly Task[])[] = [
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
