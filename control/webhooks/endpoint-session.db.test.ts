import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { operations } from '../app/operations.js'

const WEBHOOKS = '/v1/integrations/webhooks'

/*
 * Managing endpoints needs a live key, or the session of an administrator in either environment.
 */

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const api = await openUsersApi({ database, operations })
  t.teardown(() => api.close())
  const body = { url: 'https://hooks.example.com/parley', events: ['call.completed'] }

  for (const environment of ['test', 'live'] as const) {
    await t.test(`an administrator, ${environment}`, async (t) => {
      const { browser } = await api.member('admin')
      const headers = { 'x-svc-environment': environment }
      const send = (method: string, path: string, json?: unknown) =>
        browser.send(method, path, { headers, ...(json === undefined ? {} : { json }) })
      const made = await send('POST', WEBHOOKS, body)
      t.equal(made.status, 201)
      const { id, secret } = dataOf(made)
      const path = `${WEBHOOKS}/${id}`
      t.equal(dataOf(await send('GET', `${path}/secret`)).secret, secret)
      t.match(dataOf(await send('PATCH', path, { description: 'Desk' })), { description: 'Desk' })
      const rolled = await send('POST', `${path}/roll-secret`)
      t.equal(rolled.status, 200)
      t.not(dataOf(rolled).secret, secret)
      t.equal((await send('POST', `${path}/roll-secret`)).status, 409)
      t.ok(itemsOf(await send('GET', WEBHOOKS)).some((endpoint) => endpoint.id === id))
      t.equal((await send('DELETE', path)).status, 204)
      t.equal((await send('GET', path)).status, 404)
      t.equal((await browser.send('POST', WEBHOOKS, { headers, json: body, csrf: null })).status, 403)
    })
  }

  await t.test('every other role may only read them', async (t) => {
    const admin = await api.member('owner')
    const made = dataOf(await admin.browser.send('POST', WEBHOOKS, { json: body }))
    const path = `${WEBHOOKS}/${made.id}`
    for (const role of ['developer', 'viewer', 'billing'] as const) {
      const { browser } = await api.member(role)
      t.equal((await browser.send('GET', path)).status, 200, role)
      for (const [method, sub, json] of [
        ['POST', WEBHOOKS, body],
        ['PATCH', path, { enabled: false }],
        ['GET', `${path}/secret`, undefined],
        ['POST', `${path}/roll-secret`, undefined],
        ['POST', `${path}/test`, undefined],
        ['DELETE', path, undefined],
      ] as const) {
        const answer = await browser.send(method, sub, json === undefined ? {} : { json })
        t.match(answer, { status: 403, body: { error: { code: 'forbidden' } } }, `${role} ${method} ${sub}`)
      }
    }
    t.match(dataOf(await admin.browser.send('GET', path)), { enabled: true }, 'unchanged')
  })
})
