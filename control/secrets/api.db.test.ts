import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import type { Deps } from '../api/deps.js'
import { operations } from '../app/operations.js'
import { rootKeyOf } from '../base/root-key.js'
import { openEgress } from '../net/egress.js'
import { readSecretFor } from './host-store.js'
import { openVault } from './vault.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const issuesOf = (answer: { body: unknown }) =>
  (errorOf(answer).details.issues as { path: string }[]).map(({ path }) => path)
const json = (body: unknown) => ({ json: body })

const VALUE = 'sk-0123456789abcdefWXYZ'
const CONNECTIONS = '/v1/integrations/connections'

t.test('a vault opens what earlier root keys sealed, and only in its own position', async (t) => {
  const old = rootKeyOf(Buffer.alloc(32, 1))
  const before = openVault(old, 'secret-encryption')
  const stored = before.seal('value', 'sec_1')
  const now = openVault(rootKeyOf(Buffer.alloc(32, 2), [old]), 'secret-encryption')
  t.equal(now.open(stored, 'sec_1'), 'value')
  t.throws(() => now.open(stored, 'sec_2'), { code: 'storage_failed' }, 'moved to another row')
  const fresh = now.seal('value', 'sec_1')
  t.not(fresh.keyId, stored.keyId)
  t.not(now.seal('value', 'sec_1').sealed, fresh.sealed, 'never the same text twice')
  t.throws(() => before.open(fresh, 'sec_1'), { code: 'storage_failed' })
  const other = openVault(rootKeyOf(Buffer.alloc(32, 3)), 'secret-encryption')
  t.throws(() => other.open(stored, 'sec_1'), { code: 'storage_failed', message: /another root key/ })
})

/** A system to connect to: what it was asked, and how it answers a path. */
async function openSystem() {
  const asked: { method: string; path: string; authorization: string | null }[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const { method = '' } = request
    asked.push({ method, path, authorization: request.headers.authorization ?? null })
    if (path === '/hang') return
    if (path === '/cut') {
      response.destroy()
      return
    }
    if (path === '/endless' && method === 'GET') {
      response.writeHead(200)
      response.write('x'.repeat(100_000))
      return
    }
    const status =
      path === '/get' || path === '/endless' ? (method === 'HEAD' ? 405 : 204) : Number(path.slice(1))
    response.writeHead(status, status === 302 ? { location: '/200' } : {}).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

await onEachDialect(t, async (t, open) => {
  const system = await openSystem()
  const guarded = openEgress({
    allowPrivate: false,
    resolve: async () => [{ address: '93.184.215.14', family: 4 }],
  })
  const loose = openEgress({ allowPrivate: true })
  let strict = true
  // Switches like PARLEY_ALLOW_PRIVATE_URLS, so that loopback can be tested.
  const egress: Deps['egress'] = {
    check: (...given) => (strict ? guarded : loose).check(...given),
    permit: (url, kind) => (strict ? guarded : loose).permit(url, kind),
    http: loose.http,
    https: guarded.https,
    lookupOf: guarded.lookupOf,
    close() {},
  }
  const api = await openUsersApi({ database: await open(), operations, deps: { egress } })
  const { organizationId } = api
  const { browser: developer, userId } = await api.member('developer')
  const { browser: viewer } = await api.member('viewer')
  const { browser: admin } = await api.member('admin')
  const stranger = await api.owner()
  const hosts = ['crm.example.com', '127.0.0.1']
  const make = (name: string, value = VALUE) =>
    developer.send('POST', '/v1/secrets', json({ name, value, hosts }))

  await t.test('a value is write-only', async (t) => {
    const made = await make('CRM')
    t.equal(made.status, 201)
    const id = String(dataOf(made).id)
    t.match(dataOf(made), { id: /^sec_/, name: 'CRM', last4: 'WXYZ', hosts, usedBy: [] })
    t.match(itemsOf(await viewer.send('GET', '/v1/secrets')), [{ id, last4: 'WXYZ' }])

    const replaced = await developer.send('PUT', `/v1/secrets/${id}`, json({ value: 'another-value-9876' }))
    t.match(replaced, { status: 200, body: { data: { id, last4: '9876' } } })
    const short = await make('Short', 'pin-4711')
    t.equal(dataOf(short).last4, null, 'four characters of a short value tell too much')

    const vault = openVault(api.deps.rootKey, 'secret-encryption')
    const { db } = api.deps
    const target = { secretId: id, url: 'https://crm.example.com/v1' }
    t.same(await readSecretFor(db, vault, organizationId, target), {
      kind: 'value',
      value: 'another-value-9876',
    })
    t.same(await readSecretFor(db, vault, stranger.organizationId, target), { kind: 'missing' })

    const answers = JSON.stringify([made.body, replaced.body, (await viewer.send('GET', '/v1/secrets')).body])
    const rows = JSON.stringify(await db.selectFrom('secrets').selectAll().execute())
    const log = JSON.stringify(await db.selectFrom('auditEntries').selectAll().execute())
    for (const text of [VALUE, 'another-value', 'pin-4711']) {
      t.notMatch(answers, text)
      t.notMatch(rows, text)
      t.notMatch(log, text)
    }
    t.match(itemsOf(await admin.send('GET', '/v1/organization/audit-log?limit=3')), [
      { action: 'secret.created', actor: { type: 'user', id: userId } },
      { action: 'secret.replaced' },
      { action: 'secret.created' },
    ])
  })

  await t.test('rejected values', async (t) => {
    const rows: readonly [unknown, string][] = [
      [{}, 'name'],
      [{ name: 'x', hosts }, 'value'],
      [{ name: 'x', value: VALUE }, 'hosts'],
      [{ name: 'x', value: VALUE, hosts: [] }, 'hosts'],
      [{ name: 'x', value: VALUE, hosts: ['https://crm.example.com'] }, 'hosts[0]'],
      [{ name: 'x', value: VALUE, hosts: ['crm.example.com', '*'] }, 'hosts[1]'],
      [{ name: '', value: VALUE }, 'name'],
      [{ name: 'x', value: '' }, 'value'],
      [{ name: 'x', value: ' padded' }, 'value'],
      [{ name: 'x', value: 'two\nlines' }, 'value'],
      [{ name: 'x', value: 'x\r\ninjected: 1' }, 'value'],
      [{ name: 'x', value: 'naïve' }, 'value'],
      [{ name: 'x', value: 'x'.repeat(8_193) }, 'value'],
      [{ name: 'x', value: VALUE, last4: 'AAAA' }, 'last4'],
    ]
    for (const [body, path] of rows) {
      const answer = await developer.send('POST', '/v1/secrets', json(body))
      t.equal(answer.status, 400, path)
      t.ok(issuesOf(answer).includes(path), path)
      t.notMatch(JSON.stringify(answer.body), VALUE, 'errors do not repeat it')
    }
    const twins = await Promise.all([make('Twin'), make('Twin')])
    t.same(twins.map(({ status }) => status).sort(), [201, 409], 'a name is given once')
    t.equal(
      (await stranger.browser.send('POST', '/v1/secrets', json({ name: 'Twin', value: VALUE, hosts })))
        .status,
      201,
    )
  })

  await t.test('permissions', async (t) => {
    const id = String(dataOf(await make('Guarded')).id)
    const writes: readonly [string, string, unknown][] = [
      ['POST', '/v1/secrets', { name: 'x', value: VALUE, hosts }],
      ['PUT', `/v1/secrets/${id}`, { value: VALUE }],
      ['DELETE', `/v1/secrets/${id}`, undefined],
      ['POST', CONNECTIONS, { name: 'x', baseUrl: 'https://example.com' }],
    ]
    for (const [method, path, body] of writes) {
      const request = body === undefined ? {} : json(body)
      t.equal(
        (await api.send(method, path, { ...request, key: api.liveKey })).status,
        401,
        `${method} ${path}`,
      )
      t.equal((await viewer.send(method, path, request)).status, 403, `${method} ${path}`)
      if (!path.includes(id)) continue
      t.equal((await stranger.browser.send(method, path, request)).status, 404, `${method} ${path}`)
    }
    for (const path of ['/v1/secrets', CONNECTIONS]) {
      t.equal((await api.send('GET', path)).status, 401, path)
      t.equal(errorOf(await api.send('GET', path)).code, 'unauthenticated')
    }
    const live = { headers: { 'x-svc-environment': 'live' } }
    t.ok(
      itemsOf(await viewer.send('GET', '/v1/secrets', live)).some((secret) => secret.id === id),
      'shared by both',
    )
    t.equal((await developer.send('DELETE', '/v1/secrets/sec_x')).status, 404)
    t.equal((await developer.send('DELETE', `/v1/secrets/${id}`)).status, 204)
    t.equal((await developer.send('DELETE', `/v1/secrets/${id}`)).status, 404)
    t.equal((await developer.send('PUT', `/v1/secrets/${id}`, json({ value: VALUE }))).status, 404)
  })

  await t.test('connections: public https addresses and secrets of the same organization', async (t) => {
    const secretId = String(dataOf(await make('For a connection')).id)
    const foreign = await stranger.browser.send(
      'POST',
      '/v1/secrets',
      json({ name: 'Theirs', value: VALUE, hosts }),
    )
    const create = (body: object) => developer.send('POST', CONNECTIONS, json({ name: 'C', ...body }))
    for (const baseUrl of [
      'http://example.com',
      'ftp://example.com',
      'example.com',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://169.254.169.254/latest',
      'https://user:pass@example.com/',
      'https:example.com',
      'https://example.com:0/',
      `https://example.com/${'x'.repeat(2_100)}`,
    ]) {
      const answer = await create({ baseUrl })
      t.equal(answer.status, 400, baseUrl.slice(0, 60))
      t.same(issuesOf(answer), ['baseUrl'])
    }
    const baseUrl = 'https://crm.example.com/v1'
    for (const wrong of [String(dataOf(foreign).id), 'sec_01JZ0000000000000000000000', 'x']) {
      const answer = await create({ baseUrl, secretId: wrong })
      t.equal(answer.status, 404, wrong)
      t.same(errorOf(answer).details, { resource: 'secret', path: 'secretId' })
    }
    t.equal((await create({ baseUrl, kind: 'oauth' })).status, 400)
    const made = await create({ baseUrl, secretId })
    t.equal(made.status, 201)
    t.match(dataOf(made), {
      id: /^cxn_/,
      kind: 'http',
      baseUrl,
      secretId,
      status: 'untested',
      testedAt: null,
    })
    const path = `${CONNECTIONS}/${dataOf(made).id}`
    t.equal((await create({ baseUrl })).status, 409, 'the name is taken')

    const inUse = await developer.send('DELETE', `/v1/secrets/${secretId}`)
    t.equal(inUse.status, 409)
    t.same(errorOf(inUse).details, { usedBy: [{ type: 'connection', id: dataOf(made).id }] })

    t.equal((await developer.send('PATCH', path, json({}))).status, 400)
    t.equal((await developer.send('PATCH', path, json({ kind: 'http' }))).status, 400)
    t.equal((await developer.send('PATCH', path, json({ baseUrl: 'https://10.1.1.1' }))).status, 400)
    t.equal((await developer.send('PATCH', path, json({ baseUrl: null }))).status, 400)
    t.equal((await stranger.browser.send('PATCH', path, json({ name: 'Mine' }))).status, 404)
    t.equal((await viewer.send('PATCH', path, json({ name: 'Mine' }))).status, 403)
    await developer.send('POST', CONNECTIONS, json({ name: 'D', baseUrl }))
    t.equal((await developer.send('PATCH', path, json({ name: 'D' }))).status, 409, 'renamed onto another')
    const freed = await developer.send('PATCH', path, json({ name: 'E', secretId: null }))
    t.match(dataOf(freed), { name: 'E', secretId: null, baseUrl })
    const moved = await developer.send('PATCH', path, json({ baseUrl: 'https://CRM.example.com:443' }))
    t.match(dataOf(moved), { baseUrl: 'https://crm.example.com/' }, 'a URL as it is sent')
    const [, entry] = itemsOf(await admin.send('GET', '/v1/organization/audit-log?limit=2'))
    t.match(entry, {
      action: 'connection.updated',
      before: { name: 'C', secretId },
      after: { name: 'E', secretId: null },
    })
    t.equal(
      (await developer.send('DELETE', `/v1/secrets/${secretId}`)).status,
      204,
      'nothing uses it any more',
    )

    t.equal((await stranger.browser.send('DELETE', path)).status, 404)
    t.equal((await developer.send('DELETE', path)).status, 204)
    t.equal((await developer.send('POST', `${path}/test`)).status, 404)
    t.same(itemsOf(await stranger.browser.send('GET', CONNECTIONS)), [])
  })

  await t.test('a secret is deleted while a connection starts to use it', async (t) => {
    for (let round = 0; round < 5; round++) {
      const secretId = String(dataOf(await make(`Race ${round}`)).id)
      const body = { name: `Race ${round}`, baseUrl: 'https://crm.example.com/', secretId }
      const [made, deleted] = await Promise.all([
        developer.send('POST', CONNECTIONS, json(body)),
        developer.send('DELETE', `/v1/secrets/${secretId}`),
      ])
      const outcome = `${made.status} ${deleted.status}`
      t.ok(['201 409', '404 204'].includes(outcome), outcome)
    }
  })

  await t.test('a test sends a request to the system, within limits', async (t) => {
    const secretId = String(dataOf(await make('Tested')).id)
    strict = false
    const { id } = dataOf(
      await developer.send('POST', CONNECTIONS, json({ name: 'T', baseUrl: `${system.url}/200`, secretId })),
    )
    const path = `${CONNECTIONS}/${id}`
    const test = () => developer.send('POST', `${path}/test`)
    const aim = (baseUrl: string) => developer.send('PATCH', path, json({ baseUrl }))
    t.match(dataOf(await test()), { ok: true, status: 200, error: null })
    t.same(system.asked.at(-1), { method: 'HEAD', path: '/200', authorization: `Bearer ${VALUE}` })
    t.match(itemsOf(await viewer.send('GET', CONNECTIONS))[0], { id, status: 'ok', testedAt: /Z$/ })

    const rows: readonly [string, object][] = [
      ['/404', { ok: true, status: 404, error: null }],
      ['/get', { ok: true, status: 204, error: null }],
      ['/endless', { ok: true, status: 200, error: null }],
      ['/302', { ok: false, status: 302, error: 'redirect' }],
      ['/401', { ok: false, status: 401, error: 'credential_refused' }],
      ['/403', { ok: false, status: 403, error: 'credential_refused' }],
      ['/500', { ok: false, status: 500, error: 'server_error' }],
      ['/cut', { ok: false, status: null, error: 'connection_failed' }],
    ]
    for (const [target, expected] of rows) {
      t.match(dataOf(await aim(`${system.url}${target}`)), { status: 'untested', testedAt: null })
      t.match(dataOf(await test()), expected, target)
      const status = 'ok' in expected && expected.ok === true ? 'ok' : 'failing'
      t.match(itemsOf(await viewer.send('GET', CONNECTIONS))[0], { status }, target)
    }
    t.notOk(
      system.asked.some((one) => one.path === '/200' && one !== system.asked[0]),
      'no redirect was followed',
    )

    await aim(`${system.url}/hang`)
    const waiting = test()
    await until(() => system.asked.at(-1)?.path === '/hang')
    api.clock.advance(5_000)
    t.match(dataOf(await waiting), { ok: false, status: null, error: 'timeout', durationMs: 5_000 })

    // Saved while it was allowed, refused when it is used.
    await aim(`${system.url}/200`)
    strict = true
    const before = system.asked.length
    t.match(dataOf(await test()), { ok: false, status: null, error: 'address_refused' })
    t.equal(system.asked.length, before, 'and nothing was asked')
    t.equal((await viewer.send('POST', `${path}/test`)).status, 403)
    t.equal((await stranger.browser.send('POST', `${path}/test`)).status, 404)
  })
  await api.close()
  guarded.close()
  loose.close()
  system.close()
})
