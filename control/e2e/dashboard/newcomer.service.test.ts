import t, { type Test } from 'tap'
import { POLL_MS, REQUEST_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import type { StartedService } from '../../../fixtures/service/cli.js'
import type { DashboardPage } from '../../../fixtures/service/dashboard.js'
import { runTasks, settled, WIDE } from '../../../fixtures/service/dashboard-tasks.js'
import type { Json } from '../../../fixtures/service/service.js'

/* The ways of a newcomer in a real browser: an agent, a number and a finished call; a list that follows calls; bots; webhooks. */

const skip = CHROMIUM === null ? 'chromium is not installed' : false

t.test('in a browser', { skip, timeout: 580_000 }, async (t) => {
  await runTasks(t, [
    [
      { task: newcomer, view: WIDE },
      { task: followed, view: WIDE },
      { task: fallback, view: { language: 'hi', colours: 'light', width: 320 } },
      { task: webhooks, view: WIDE, refused: /status of 4(00|09)/ },
    ],
  ])
})

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
