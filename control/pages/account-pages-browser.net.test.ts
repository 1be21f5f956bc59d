import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openTestApi } from '../../fixtures/api/api.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { POLL_MS, WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { type BrowserPage, CHROMIUM, openBrowserPage } from '../../fixtures/service/chromium.js'
import { openBrowser, openDashboard } from '../../fixtures/service/dashboard.js'
import { insertUser } from '../access/accounts/store.js'
import { accessOperations } from '../access/api.js'
import { createMailToken } from '../mail/mail-tokens.js'

const skip = CHROMIUM === null ? 'chromium is not installed' : false

/**
 * Returns the text of an element as soon as the page is loaded, its styles included, and has that element.
 * The page may change meanwhile. Throws if the element does not come.
 */
async function textOf(page: BrowserPage, selector: string): Promise<string> {
  const found = `document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`
  const expression = `document.readyState === 'complete' ? ${found} : null`
  for (let waited = 0; waited < WAIT_LIMIT_MS; waited += POLL_MS) {
    // The expression fails while the browser replaces the document.
    const text = await page.evaluate(expression).catch(() => null)
    if (typeof text === 'string') return text
    await setTimeout(POLL_MS)
  }
  throw new Error(`${selector} did not appear`)
}

t.test('a mailed link in a real browser', { skip }, async (t) => {
  const database = await openMigratedSqlite()
  let url = ''
  const api = await openTestApi({ database, operations: accessOperations, deps: { publicUrl: () => url } })
  url = api.url
  const page = await openBrowserPage(CHROMIUM ?? '')
  t.teardown(async () => {
    await page.close()
    await api.close()
    await database.close()
  })
  const { db, rootKey, clock } = api.deps
  const now = clock.wall()
  const account = { email: 'asha@clinic.example', name: 'Asha', passwordHash: 'none', emailVerifiedAt: null }
  const subjectId = (await insertUser(db, now, account)) ?? ''
  const token = await createMailToken(db, rootKey, {
    kind: 'verify_email',
    subjectId,
    expiresAt: now + 60_000_000,
  })

  await page.open(`${api.url}/verify-email?token=${token}`)
  t.match(await textOf(page, 'form'), 'Password, at least 10 characters')
  t.equal(await page.evaluate(`getComputedStyle(document.querySelector('label')).display`), 'block', 'styled')
  await page.evaluate(`{
    document.querySelector('[name=name]').value = 'Asha'
    document.querySelector('[name=password]').value = 'correct horse battery'
    document.querySelector('button').click()
  }`)
  t.match(await textOf(page, '[role=status]'), 'Your address is confirmed')
  t.notMatch(await page.evaluate('location.href'), token)
  const user = await db.selectFrom('users').selectAll().where('id', '=', subjectId).executeTakeFirstOrThrow()
  t.not(user.emailVerifiedAt, null)
  t.ok(await api.deps.passwords.verify('correct horse battery', user.passwordHash))
  t.same(page.errors, [], 'nothing on the console')
  const elsewhere = page.requested.filter((address) => !address.startsWith(api.url))
  t.same(elsewhere, [], 'nothing from elsewhere')
})

t.test('each page in each language, light and dark', { skip }, async (t) => {
  const database = await openMigratedSqlite()
  let url = ''
  const api = await openTestApi({ database, operations: accessOperations, deps: { publicUrl: () => url } })
  url = api.url
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(async () => {
    await browser.close()
    await api.close()
    await database.close()
  })
  const titles = {
    en: [
      ...['Confirm your address', 'Request a new confirmation link', 'Request a new password'],
      ...['Set a new password', 'Accept the invitation'],
    ],
    hi: [
      ...['अपने पते की पुष्टि करें', 'पुष्टि का नया लिंक माँगें', 'नया पासवर्ड माँगें'],
      ...['नया पासवर्ड चुनें', 'निमंत्रण स्वीकार करें'],
    ],
  }
  const paths = [
    ...['verify-email', 'resend-verification', 'forgot-password'],
    ...['reset-password', 'accept-invitation'],
  ]
  for (const language of ['en', 'hi'] as const) {
    const colours = language === 'en' ? 'light' : 'dark'
    const pages = await openDashboard(browser, `${url}/`, { language, colours, width: 320 })
    for (const [index, path] of paths.entries()) {
      await pages.show(path)
      t.equal(await pages.page.locator('h1').textContent(), titles[language][index])
      t.equal(await pages.page.locator('html').getAttribute('lang'), language)
      t.same(await pages.audit(), [], `${path} in ${language}`)
    }
    t.same(pages.faults, [])
    await pages.page.goto(`${url}/verify-email?token=unknown`)
    const status = await pages.page.locator('[role=status]').textContent()
    t.match(status, language === 'en' ? 'The link is invalid' : 'लिंक मान्य नहीं है')
    t.same(await pages.audit(), [], `a refused link in ${language}`)
    await pages.close()
  }
})
