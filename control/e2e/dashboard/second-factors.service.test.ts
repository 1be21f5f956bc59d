import type { Page } from 'playwright-core'
import t from 'tap'
import { totpCode } from '../../../fixtures/api/second-factor.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { runCli, START_ENV, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import {
  type DashboardPage,
  openBrowser,
  openDashboard,
  signIn,
  signInStaff,
} from '../../../fixtures/service/dashboard.js'
import { createStaff, sessionSend } from '../../../fixtures/service/dashboard-data.js'

/*
 * Second factors as people use them: a real service, Chromium, and its virtual authenticator for passkeys.
 */

assertNothingLeft(t)

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const WIDE = { language: 'en', colours: 'light', width: 1280 } as const
const NARROW_HINDI = { language: 'hi', colours: 'dark', width: 320 } as const
/** Answers that ask for a second factor or refuse a wrong code. Browsers log them as errors. */
const EXPECTED = /status of 40[013]/

t.test('second factors in a browser', { skip, timeout: 580_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  // Browsers make passkeys on this machine at the name localhost only.
  const url = `${service.httpUrl.replace('127.0.0.1', 'localhost')}/dashboard/`
  const [, password = ''] = await service.cli.complained(/Owner +owner@localhost, password (\S+)/)
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())

  await t.test('a member adds factors, signs in with them, and removes one', async (t) => {
    const dashboard = await openDashboard(browser, url, WIDE)
    const { page } = dashboard
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await signIn(page, url, 'owner@localhost', password)
    await dashboard.show('test/security')
    t.same(await dashboard.audit(), [], 'no factor yet')

    await button('Add an authenticator app').click()
    const secret = (await page.locator('[role=dialog] pre').textContent()) ?? ''
    t.same(await dashboard.audit(), [], 'the QR code')
    await page.locator('[name=code]').fill('12345')
    await button('Confirm').click()
    await page.locator('[role=dialog] [role=alert]').waitFor()
    await page.locator('[name=code]').fill(totpCode(secret.replaceAll(/\s/g, ''), Date.now()))
    await button('Confirm').click()
    await button('I have kept this').waitFor()
    const codes = ((await page.locator('[role=dialog] pre').textContent()) ?? '').split('\n')
    t.equal(codes.length, 10)
    t.same(await dashboard.audit(), [], 'the recovery codes')
    const download = page.waitForEvent('download')
    await button('Download').click()
    t.equal((await download).suggestedFilename(), 'parley-recovery-codes.txt')
    await page.keyboard.press('Escape')
    await page.mouse.click(4, 4)
    t.equal(await button('Close').count(), 0)
    t.equal(
      await page.locator('[role=dialog] pre').textContent(),
      codes.join('\n'),
      'they are not lost by a slip',
    )
    await button('I have kept this').click()
    await page.getByText('10 recovery codes are left.').waitFor()

    await addAuthenticator(page)
    await button('Add a passkey').click()
    await page.getByRole('button', { name: 'Remove Passkey' }).waitFor()
    await dashboard.show('test/security')
    t.same(await dashboard.audit(), [], 'two factors')

    await button('Remove Authenticator app').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await button('Use a passkey').click()
    await page.getByRole('button', { name: 'Remove Authenticator app' }).waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await signOut(page)
    await page.locator('[name=email]').fill('owner@localhost')
    await page.locator('[name=password]').fill(password)
    await button('Sign in').click()
    await button('Use a passkey').waitFor()
    t.same(await dashboard.audit(), [], 'the second step of the sign-in')
    await button('Use a passkey').click()
    await page.locator('nav#menu').waitFor({ state: 'attached' })

    await signOut(page)
    await page.locator('[name=email]').fill('owner@localhost')
    await page.locator('[name=password]').fill(password)
    await button('Sign in').click()
    await button('Use a recovery code instead').click()
    await page.locator('[name=code]').fill('wrong')
    await button('Continue').click()
    await page.getByText('The code or the passkey is wrong, or was used before.').waitFor()
    await page.locator('[name=code]').fill(codes[3] ?? '')
    await button('Continue').click()
    await page.locator('nav#menu').waitFor({ state: 'attached' })
    await dashboard.show('test/security')
    await page.getByText('9 recovery codes are left.').waitFor()

    await dashboard.show('test/members')
    await page.getByRole('row', { name: 'owner@localhost' }).getByRole('cell', { name: 'Yes' }).waitFor()

    await dashboard.show('test/settings')
    await page.getByLabel('Members need a second factor').check()
    await button('Save').click()
    await page.getByText('Saved.').waitFor()
    t.equal((await sessionSend(page, 'GET', '/v1/organization')).requireSecondFactor, true)
    t.same(unexpected(dashboard), [])
    await dashboard.close()
  })

  await t.test('staff add a factor first, and two of them decide about a large adjustment', async (t) => {
    const account = await createStaff(t, folder)
    const hindi = await openDashboard(browser, url, NARROW_HINDI)
    await hindi.page.goto(url)
    await hindi.page.locator('[name=email]').fill(account.email)
    await hindi.page.locator('[name=password]').fill(account.password)
    await hindi.page.locator('form button[type=submit]').click()
    await hindi.page.getByRole('button', { name: 'ऑथेंटिकेटर ऐप जोड़ें' }).waitFor()
    t.same(await hindi.audit(), [], 'nothing else is shown before')
    t.same(unexpected(hindi), [])
    await hindi.close()

    const first = await openDashboard(browser, url, WIDE)
    await signInStaff(first.page, url, account.email, account.password)
    const [organization] = (await sessionSend(first.page, 'GET', '/v1/staff/organizations')) as unknown as {
      readonly id: string
    }[]
    await first.show(`staff/organizations/${organization?.id}`)
    await first.page.getByRole('button', { name: 'Change the balance' }).click()
    await first.page.locator('[name=rupees]').fill('150000')
    await first.page.locator('[name=reference]').fill('T-2001')
    await first.page.locator('[name=reason]').fill('A bank transfer of the customer.')
    await first.page.getByRole('dialog').getByRole('button', { name: 'Change the balance' }).click()
    await first.page.getByText('It waits for a second member of staff.').waitFor()
    await first.show('staff/adjustments')
    await first.page.getByText('Your own: somebody else has to approve it.').waitFor()
    t.equal(await first.page.getByRole('button', { name: 'Approve' }).count(), 0)
    t.same(await first.audit(), [], 'the adjustment of the user')
    t.same(unexpected(first), [])

    const made = runCli(t, folder, ['staff', 'create', '--email', 'second@example.com'], START_ENV)
    const [secondPassword = ''] = await made.printed(/^\S+/m)
    await made.exit()
    const second = await openDashboard(browser, url, WIDE)
    await signInStaff(second.page, url, 'second@example.com', secondPassword)
    await second.show('staff/adjustments')
    t.same(await second.audit(), [], 'the adjustment of somebody else')
    await second.page.getByRole('button', { name: 'Approve' }).click()
    await second.page.locator('[name=reason]').fill('The bank confirms it.')
    await second.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await second.page.getByText('No adjustment waits for a second person.').waitFor()
    const read = await sessionSend(second.page, 'GET', `/v1/staff/organizations/${organization?.id}`)
    t.match(read.wallet, { balancePaise: 15_000_000 })
    await second.show('staff/security')
    t.same(await second.audit(), [], 'the security of staff')
    t.same(unexpected(second), [])
    await second.close()
    await first.close()
  })
})

/** Gives the page an authenticator that confirms everything at once. */
async function addAuthenticator(page: Page): Promise<void> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('WebAuthn.enable')
  await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

async function signOut(page: Page): Promise<void> {
  await page.locator('header .account').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.locator('[name=email]').waitFor()
}

function unexpected({ faults }: DashboardPage): readonly string[] {
  return faults.filter((fault) => !EXPECTED.test(fault))
}
