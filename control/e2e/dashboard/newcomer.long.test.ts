import type { Page } from 'playwright-core'
import t from 'tap'
import { until } from '../../../fixtures/host/until.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { temporaryFolder } from '../../../fixtures/service/cli.js'
import { openBrowser, openDashboard, signIn } from '../../../fixtures/service/dashboard.js'
import { mailedToken, startForDashboard } from '../../../fixtures/service/dashboard-data.js'

/*
 * The whole way of a new customer, by clicks only: sign-up, mailed link, agent, test call, campaign, a call that a person
 * takes over by telephone, one that the agent hands over, and a payment with its invoice.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const LOOK_MS = 250
/** A call lasts 40 seconds, and longer on a busy host. */
const CALL_LIMIT_MS = 180_000
const EMAIL = 'asha@clinic.example'
const PASSWORD = 'correct horse battery'
/** One answers, one is busy, one is an answering machine. */
const PEOPLE = 'Name,Mobile\nAsha,9000000001\nRavi,+919000000002\nMeera,+91 90000 00004\nNobody,12345\n'
/** Talks for ever. */
const TALKER = '+919000000009'
/** Presses 1, as a person does who takes a call. */
const COLLEAGUE = '+919000000012'

t.test('a new customer comes to a paid invoice by clicks', { skip, timeout: 600_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startForDashboard(t, folder)
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const dashboard = await openDashboard(browser, url, { language: 'en', colours: 'light', width: 1440 })
  const { page } = dashboard
  const menu = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click()
  /** A step needs the ones before it: the first failure ends the test. */
  const step = async (name: string, run: () => Promise<void>): Promise<void> => {
    t.comment(name)
    await run()
  }
  const inDialog = (name: string) =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click()

  await step('signs up with an address and an organization', async () => {
    await page.goto(url)
    await page.getByRole('link', { name: 'No account yet? Sign up' }).click()
    await page.getByLabel('Organization').fill('Smile Dental Clinic')
    await page.getByLabel('Email').fill(EMAIL)
    t.equal(await page.locator('input').count(), 2, 'nothing else is asked')
    await press('Sign up')
    await page.getByText(`We have sent a link to ${EMAIL}.`).waitFor()
    await page.goto(`${service.httpUrl}/verify-email?token=${await mailedToken(folder, EMAIL)}`)
    await page.getByLabel('Your name').fill('Asha Rao')
    await page.getByLabel('Password').fill(PASSWORD)
    await press('Confirm')
    await page.getByText('Your address is confirmed.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, page.url(), EMAIL, PASSWORD)
    await page.getByText('7 of 7 steps are left.').waitFor()
  })

  await step('states the purpose of its calls', async () => {
    await menu('Settings')
    await page.getByLabel('Usual purpose of your calls').selectOption({ label: 'Transactional' })
    await press('Save')
    await page.getByText('Saved.').waitFor()
  })

  await step('publishes an agent that answers the number', async () => {
    await menu('Agents')
    await page.getByRole('button', { name: 'New agent' }).first().click()
    await page.getByLabel('Name').fill('Clinic')
    await press('Create')
    await page.getByRole('heading', { name: 'Clinic' }).waitFor()
    await page.getByLabel('Instructions').fill('You book appointments for a clinic.')
    await page.getByLabel('First sentence, outbound').fill('Hello, this is the clinic.')
    await press('Save')
    await press('Publish')
    await inDialog('Publish')
    await page.getByText('Version 1 is live.').waitFor()
    await menu('Numbers')
    await press(/^Edit/)
    await page.getByLabel('Answered by').selectOption({ label: 'Clinic' })
    await inDialog('Save')
    await page.getByRole('cell', { name: 'Clinic' }).waitFor()
  })

  await step('hears a test call', async () => {
    await press('Test call')
    await inDialog('Call')
    // The call is over when its result is told.
    await page.getByText('Answered', { exact: true }).waitFor({ timeout: CALL_LIMIT_MS })
    await menu('Overview')
    await page.getByText('3 of 7 steps are left.').waitFor({ state: 'detached' })
  })

  await step('calls three people with a campaign', async () => {
    await menu('Campaigns')
    await page.getByRole('link', { name: 'New campaign' }).first().click()
    await page.getByLabel('Name').fill('Reminders')
    await press('Next')
    const buffer = Buffer.from(PEOPLE)
    await page.locator('input[type=file]').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
    await page.getByText('3 rows can be imported, 1 row has a fault.').waitFor()
    await page.getByText('Line 5, 12345: This is not an Indian').waitFor()
    await press('Next')
    // The test runs at any hour.
    await page.getByLabel('Calls from (IST)').fill('00:00')
    await page.getByLabel('Calls until (IST)').fill('00:00')
    await page.getByLabel('Sunday').check()
    await page.getByLabel('Calls per person at most').fill('1')
    await page.getByLabel('Calls per minute').fill('60')
    await press('Create the campaign')
    await page.getByText('3 people imported, 1 row rejected.').waitFor()
    t.same(await dashboard.audit(), [], 'the result of the wizard')
    await page.getByRole('link', { name: 'Open the campaign' }).click()
    await page.getByText(/of 3 people can be called/).waitFor()
    t.match(await page.locator('main').textContent(), '3 of 3 people can be called')
    await press('Launch')
    await page.getByText('Completed', { exact: true }).waitFor()
    await page.getByText('3 of 3 people done').waitFor()
    const row = (number: string) => page.getByRole('row', { name: number })
    await row('+919000000002').getByRole('cell', { name: 'Busy' }).waitFor()
    await row('+919000000004').getByRole('cell', { name: 'Voicemail' }).waitFor()
    await page.getByLabel('Outcome').selectOption({ label: 'Busy' })
    await row('+919000000001').waitFor({ state: 'detached' })
    await row('+919000000002').waitFor()
    t.equal(await page.getByRole('region', { name: 'People' }).locator('tbody tr').count(), 1)
    t.same(await dashboard.audit(), [], 'a completed campaign')
  })

  await step('lets a colleague take a call over', async () => {
    await menu('Transfers')
    await page.getByRole('button', { name: 'New destination' }).first().click()
    await page.getByLabel('Display name').fill('Front desk')
    await page.getByLabel('Name for the agent').fill('front_desk')
    await page.getByRole('dialog').getByLabel('Number').fill(COLLEAGUE)
    await inDialog('Create')
    await press('Verify')
    await inDialog('Call now')
    // The code of the test environment.
    await page.getByRole('dialog').locator('input').first().click()
    await page.keyboard.type('000000')
    await inDialog('Confirm')
    await page.getByRole('cell', { name: 'Verified' }).waitFor()
    await menu('Calls')
    await press('Place a call')
    await page.getByRole('dialog').getByLabel('Number to call').fill(TALKER)
    await inDialog('Place a call')
    await menu('Live calls')
    const call = page.getByRole('row', { name: TALKER })
    await call.getByRole('cell', { name: 'In progress' }).waitFor()
    await call.getByRole('link').press('t')
    await press('Take over by telephone')
    await page.getByText('You have the caller.').waitFor()
    await press('Hand back')
    await page.getByText('Last takeover: handed back.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: `End the call to ${TALKER}` }).click()
    await inDialog('End the call')
    // The verification call before it may still be in the list, too.
    await call.getByRole('cell', { name: 'Ended' }).waitFor()
  })

  await step('lets the agent hand a caller over to the colleague', async () => {
    await menu('Agents')
    await page.getByRole('link', { name: 'Clinic' }).click()
    await page.locator('summary', { hasText: 'Transfers to persons' }).click()
    await press('Add a destination')
    await page.getByLabel('Default destination').selectOption({ label: 'Front desk' })
    await press('Save')
    await press('Publish')
    await inDialog('Publish')
    await page.getByText('Version 2 is live.').waitFor()
    await page.getByLabel('Behaviour of the caller').selectOption({ label: 'Wants a person' })
    await press('Call the agent')
    await page.getByRole('region', { name: 'Test call' }).getByRole('link').click()
    const transfers = page.getByRole('region', { name: 'Transfers' })
    await transfers.getByText(/^Front desk, /).waitFor({ timeout: CALL_LIMIT_MS })
    await transfers.getByText('Completed').waitFor({ timeout: CALL_LIMIT_MS })
    await page
      .getByRole('region', { name: 'Charges' })
      .getByText(/^Person: /)
      .waitFor()
    t.same(await dashboard.audit(), [], 'a call that was handed over')
  })

  await step('pays, and gets an invoice', async () => {
    await menu('Settings')
    await page.getByLabel('Name on the invoice').fill('Smile Dental Clinic LLP')
    await page.getByLabel('Address').fill('12 MG Road')
    await page.getByLabel('City').fill('Bengaluru')
    await page.getByLabel('PIN code').fill('560001')
    await page.getByLabel('State (GST)').selectOption('29')
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await press('Save')
    await saved
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    await menu('Wallet')
    await press('Top up')
    await page.getByRole('dialog').getByLabel('Amount').fill('2000')
    await inDialog('Go to the payment')
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Open the payment page' }).click()
    const checkout: Page = await opened
    await checkout.getByRole('button', { name: 'Pay', exact: true }).click()
    const arrived = checkout.getByText('The payment arrived and is in your wallet.')
    const again = checkout.getByRole('link', { name: 'Look again' })
    await arrived.or(again).waitFor()
    await until(
      async () => {
        if (await again.isVisible()) await again.click()
        return arrived.isVisible()
      },
      { everyMs: LOOK_MS },
    )
    t.equal(await checkout.getByRole('button', { name: 'Pay', exact: true }).count(), 0)
    await checkout.getByRole('link', { name: 'Back to the wallet' }).click()
    await checkout.getByText('₹2,000.00').first().waitFor()
    await checkout.getByRole('tab', { name: 'Invoices' }).click()
    await checkout.getByRole('cell', { name: '₹2,360.00' }).waitFor()
    const pdf = checkout.waitForEvent('download')
    await checkout.getByRole('button', { name: /^Download .* as PDF$/ }).click()
    t.match((await pdf).suggestedFilename(), /\.pdf$/)
  })
  t.same(dashboard.faults, [])
  await dashboard.close()
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})
