import t from 'tap'
import { openTestApi } from '../../fixtures/api/api.js'
import { CHROMIUM, openBrowserPage } from '../../fixtures/service/chromium.js'
import { silentLog } from '../../media/base/log.js'
import { insertUser } from '../access/accounts/store.js'
import { accessOperations } from '../access/api.js'
import { openDatabase } from '../db/database.js'
import { migrate } from '../db/migrate.js'
import { createMailToken } from '../mail/mail-tokens.js'

const skip = CHROMIUM === null ? 'chromium is not installed' : false

/** Resolves with the text of the element as soon as it exists, or with null when it does not come. */
const textOf = (selector: string) => `new Promise((resolve) => {
  const giveUp = performance.now() + 30_000
  const look = () => {
    const found = document.querySelector(${JSON.stringify(selector)})
    if (found !== null || performance.now() > giveUp) resolve(found === null ? null : found.textContent)
    else setTimeout(look, 20)
  }
  look()
})`

t.test('a mailed link in a real browser', { skip }, async (t) => {
  const database = openDatabase('sqlite::memory:', silentLog)
  await migrate(database)
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
  t.match(await page.evaluate(textOf('form')), 'Password, at least 10 characters')
  t.equal(await page.evaluate(`getComputedStyle(document.querySelector('label')).display`), 'block', 'styled')
  await page.evaluate(`{
    document.querySelector('[name=name]').value = 'Asha'
    document.querySelector('[name=password]').value = 'correct horse battery'
    document.querySelector('button').click()
  }`)
  t.match(await page.evaluate(textOf('[role=status]')), 'Your address is confirmed')
  t.notMatch(await page.evaluate('location.href'), token)
  const user = await db.selectFrom('users').selectAll().where('id', '=', subjectId).executeTakeFirstOrThrow()
  t.not(user.emailVerifiedAt, null)
  t.ok(await api.deps.passwords.verify('correct horse battery', user.passwordHash))
  t.same(page.errors, [], 'nothing on the console')
  const elsewhere = page.requested.filter((address) => !address.startsWith(api.url))
  t.same(elsewhere, [], 'nothing from elsewhere')
})
