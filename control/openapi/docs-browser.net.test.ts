import t from 'tap'
import { openTestApi } from '../../fixtures/api/api.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { CHROMIUM, openBrowserPage } from '../../fixtures/service/chromium.js'
import { operations } from '../app/operations.js'

const skip = CHROMIUM === null ? 'chromium is not installed' : false

/** Resolves with the number of elements as soon as there are so many, or when they do not come. */
const appears = (selector: string, atLeast = 1) => `new Promise((resolve) => {
  const giveUp = performance.now() + ${WAIT_LIMIT_MS}
  const look = () => {
    const { length } = document.querySelectorAll(${JSON.stringify(selector)})
    if (length >= ${atLeast} || performance.now() > giveUp) resolve(length)
    else setTimeout(look, 20)
  }
  look()
})`

t.test('the reference in a real browser', { skip }, async (t) => {
  const database = await openMigratedSqlite()
  const api = await openTestApi({ database, operations })
  const page = await openBrowserPage(CHROMIUM ?? '')
  t.teardown(async () => {
    await page.close()
    await api.close()
    await database.close()
  })

  await page.open(`${api.url}/docs`)
  const groups = new Set(operations.map(({ tag }) => tag))
  const sections = Number(await page.evaluate(appears('.opblock-tag-section', groups.size)))
  t.ok(sections >= groups.size, 'every group is there')
  await page.evaluate(`document.querySelector('#operations-tag-Agents').click()`)
  const agents = '.opblock-tag-section:has(#operations-tag-Agents)'
  const { length } = operations.filter(({ tag }) => tag === 'Agents')
  t.equal(await page.evaluate(appears(`${agents} .opblock`, length)), length, 'and opens to its operations')
  await page.evaluate(`document.querySelector('${agents} .opblock-summary-control').click()`)
  t.ok(
    Number(await page.evaluate(appears(`${agents} .opblock-body .responses-inner`))) > 0,
    'each with its answers',
  )

  await page.open(`${api.url}/docs/errors#not_found`)
  t.equal(await page.evaluate(appears('h2#not_found')), 1)
  t.same(page.errors, [], 'nothing on the console')
  const elsewhere = page.requested.filter((url) => !url.startsWith(api.url) && !url.startsWith('data:'))
  t.same(elsewhere, [], 'nothing from elsewhere')
  t.ok(page.requested.some((url) => url.endsWith('/v1/openapi.json')))
})
