import { request as httpRequest } from 'node:http'
import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { accessOperations } from '../access/api.js'
import { readSettings } from '../config/settings.js'
import { sessionOrigins } from './origins.js'

const DASHBOARD = 'https://app.voice.example.in'
const settings = readSettings(
  {
    PARLEY_DASHBOARD_URL: `${DASHBOARD}/console`,
    PARLEY_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8',
  },
  '/nowhere',
)
const publicUrl = () => 'https://api.voice.example.in'

t.test('origins whose pages may make changes', async (t) => {
  const plain = readSettings({}, '/nowhere')
  const table: readonly [publicUrl: string, dashboard: string | null, origins: readonly string[]][] = [
    ['https://voice.example.in', null, ['https://voice.example.in']],
    ['https://voice.example.in:8443/api', null, ['https://voice.example.in:8443']],
    [
      'https://api.example.in',
      'https://app.example.in/x',
      ['https://app.example.in', 'https://api.example.in'],
    ],
    ['http://127.0.0.1:8080', null, ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080']],
    ['', null, []],
  ]
  for (const [url, dashboard, origins] of table) {
    const deps = { settings: { ...plain, dashboardUrl: dashboard }, publicUrl: () => url }
    t.same(sessionOrigins(deps), origins, url)
  }
})

t.test('another origin, behind a proxy', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations, deps: { settings, publicUrl } })
    const { browser, email } = await api.member('owner')
    const cors = (headers: Headers) =>
      [...headers.keys()].filter((name) => name.startsWith('access-control-'))

    await t.test('the dashboard may call with its session', async (t) => {
      const answer = await browser.send('GET', '/v1/auth/session', { origin: DASHBOARD })
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('access-control-allow-origin'), DASHBOARD)
      t.equal(answer.headers.get('access-control-allow-credentials'), 'true')
      t.match(answer.headers.get('vary'), /origin/i)
      t.equal((await browser.send('POST', '/v1/auth/logout', { origin: DASHBOARD })).status, 204)
    })

    await t.test('other origins and requests with a key get no CORS permission', async (t) => {
      const person = await api.member('owner')
      for (const origin of [
        'https://evil.example',
        'null',
        `${DASHBOARD}.evil.example`,
        'https://api.voice.example.in',
      ]) {
        const answer = await person.browser.send('GET', '/v1/auth/session', { origin })
        t.same(cors(answer.headers), [], origin)
      }
      const keyed = await api.send('GET', '/v1/whoami', { headers: { origin: DASHBOARD } })
      t.equal(keyed.status, 200)
      t.same(cors(keyed.headers), [])
    })

    await t.test('preflights', async (t) => {
      const preflight = (origin: string) =>
        api.send('OPTIONS', '/v1/api-keys', {
          key: null,
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type,x-svc-csrf',
          },
        })
      const answer = await preflight(DASHBOARD)
      t.equal(answer.status, 204)
      t.match(answer.headers.get('access-control-allow-methods'), /POST/)
      t.match(answer.headers.get('access-control-allow-headers'), /content-type.*x-svc-csrf/)
      t.notMatch(answer.headers.get('access-control-allow-headers'), /authorization/i)
      const denied = await preflight('https://evil.example')
      t.equal(denied.status, 405)
      t.same(cors(denied.headers), [])
    })

    await t.test('over TLS the cookies are for TLS only, and mails link to the dashboard', async (t) => {
      const json = { email: 'tls@example.in', password: 'long enough', name: 'T', organizationName: 'T' }
      t.equal((await api.send('POST', '/v1/signup', { key: null, json })).status, 201)
      const token = await api.tokenFor('tls@example.in')
      t.match(
        (await api.latestMailTo('tls@example.in')).text,
        `${DASHBOARD}/console/verify-email#token=${token}`,
      )
      const verify = { token, password: json.password }
      t.equal((await api.send('POST', '/v1/auth/verify-email', { key: null, json: verify })).status, 200)
      const logIn = { email: json.email, password: json.password }
      const answer = await api.send('POST', '/v1/auth/login', { key: null, json: logIn })
      for (const cookie of answer.headers.getSetCookie()) t.match(cookie, /; Secure; SameSite=Lax$/)
      t.match(answer.headers.get('strict-transport-security'), /max-age=31536000/)
    })

    await t.test('limits count the client that a trusted proxy names, and ignore other names', async (t) => {
      api.clock.advance(60_000)
      const forgot = async (forwarded: string) =>
        (
          await api.send('POST', '/v1/signup/email-available', {
            key: null,
            json: { email },
            headers: { 'x-forwarded-for': forwarded },
          })
        ).status
      for (let i = 0; i < 10; i++) t.equal(await forgot('198.51.100.7'), 200)
      t.equal(await forgot('198.51.100.7'), 429)
      t.equal(await forgot('198.51.100.8'), 200, 'another client of the same proxy')
      t.equal(await forgot('203.0.113.1, 198.51.100.7'), 429, 'what the client itself wrote does not count')
      t.equal(await forgot('198.51.100.7, 10.1.2.3'), 429, 'through two proxies')
    })
    await api.close()
  })
})

t.test('without trusted proxies the header is ignored', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: accessOperations })
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) {
      const headers = { 'x-forwarded-for': `198.51.100.${i}` }
      const json = { email: 'a@example.in' }
      statuses.push(
        (await api.send('POST', '/v1/signup/email-available', { key: null, json, headers })).status,
      )
    }
    t.same(statuses, [...Array(10).fill(200), 429, 429])
    await api.close()
  })
})

t.test('a signed request is read unchanged, never decompressed', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: accessOperations })
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(`${api.url}/v1/secret-scanning/reports`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': '2' },
      })
      request.on('response', (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.end('{}')
    })
    t.equal(status, 400)
    await api.close()
  })
})
