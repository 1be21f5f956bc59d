import t from 'tap'
import { BrowserSession, openUsersApi } from '../../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { type Operation, operation } from '../../api/operation.js'
import { ADMIN_ROLES, BILLING_ROLES } from '../../api/scopes.js'
import type { Role } from '../../db/tables/identity.js'
import { accessOperations } from '../api.js'
import { readCookie, signInCookies } from './cookies.js'
import { sweepSessions } from './sessions.js'

const probe = (id: string, extra: object): Operation =>
  operation({
    id,
    method: 'post',
    path: `/v1/probe/${id}`,
    tag: 'Test',
    summary: 'Says who calls',
    audience: 'key',
    status: 204,
    fails: [],
    run: () => {},
    ...extra,
  })

/** One operation for each kind of caller. */
const probes: readonly Operation[] = [
  probe('read', { scope: 'read' }),
  probe('write', { scope: 'write' }),
  probe('admin', { scope: 'admin' }),
  probe('liveOnly', { scope: 'admin', environment: 'live' }),
  probe('testOnly', { scope: 'write', environment: 'test' }),
  probe('anyMember', { audience: 'session' }),
  probe('admins', { audience: 'session', roles: ADMIN_ROLES }),
  probe('payers', { audience: 'session', roles: BILLING_ROLES }),
  probe('account', { audience: 'account' }),
  probe('staff', { audience: 'staff' }),
]
const NAMES = ['read', 'write', 'admin', 'anyMember', 'admins', 'payers', 'account', 'staff'] as const

t.test('cookies', async (t) => {
  t.equal(readCookie('a=1; svc_session=abc; b=2', 'svc_session'), 'abc')
  t.equal(readCookie('xsvc_session=abc', 'svc_session'), null)
  t.equal(readCookie('svc_session', 'svc_session'), null)
  t.equal(readCookie(undefined, 'svc_session'), null)
  t.match(signInCookies('https://voice.example.com', 'x', 'y', 'z')['set-cookie'], [
    /^svc_session=x; .*HttpOnly; Secure; SameSite=Lax$/,
    /^svc_csrf=y; (?!.*HttpOnly).*Secure; SameSite=Lax$/,
    /^svc_device=z; Path=\/; Max-Age=15552000; HttpOnly; Secure; SameSite=Lax$/,
  ])
})

t.test('sessions', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: [...accessOperations, ...probes] })
    const refusal = (code: string) => ({ body: { error: { code } } })

    await t.test('which kind of caller may call which operation', async (t) => {
      const may: readonly [role: Role, allowed: readonly (typeof NAMES)[number][]][] = [
        ['owner', ['read', 'write', 'admin', 'anyMember', 'admins', 'payers', 'account']],
        ['admin', ['read', 'write', 'admin', 'anyMember', 'admins', 'payers', 'account']],
        ['developer', ['read', 'write', 'anyMember', 'account']],
        ['viewer', ['read', 'anyMember', 'account']],
        ['billing', ['read', 'anyMember', 'payers', 'account']],
      ]
      for (const [role, allowed] of may) {
        const { browser } = await api.member(role)
        for (const name of NAMES) {
          const answer = await browser.send('POST', `/v1/probe/${name}`)
          const expected = allowed.includes(name) ? { status: 204 } : { status: 403, ...refusal('forbidden') }
          t.match(answer, expected, `${role}: ${name}`)
          t.equal(answer.headers.get('ratelimit'), null, 'sessions spend no request budget')
        }
      }
      const staff = await api.staff()
      for (const name of NAMES) {
        const expected =
          name === 'staff' || name === 'account' ? { status: 204 } : { status: 403, ...refusal('forbidden') }
        t.match(await staff.browser.send('POST', `/v1/probe/${name}`), expected, `staff: ${name}`)
      }
    })

    await t.test('API keys on session operations, and both credentials in one request', async (t) => {
      const { browser } = await api.member('owner')
      for (const name of ['anyMember', 'admins', 'account', 'staff'] as const) {
        const expected = { status: 401, ...refusal('unauthenticated') }
        t.match(await api.send('POST', `/v1/probe/${name}`), expected, `key: ${name}`)
        t.match(
          await browser.send('POST', `/v1/probe/${name}`, { key: api.testKey }),
          expected,
          `both: ${name}`,
        )
        t.match(await api.send('POST', `/v1/probe/${name}`, { key: null }), expected, `nobody: ${name}`)
      }
      t.equal(
        (await browser.send('POST', '/v1/probe/read', { key: api.testKey, csrf: null })).status,
        204,
        'the key counts',
      )
      t.match(await api.send('POST', '/v1/api-keys', { json: {} }), {
        status: 401,
        ...refusal('unauthenticated'),
      })
    })

    await t.test('environment and organization', async (t) => {
      const { browser, userId } = await api.member('developer')
      const whoami = async (headers: Record<string, string> = {}) =>
        browser.send('GET', '/v1/whoami', { headers })
      t.match((await whoami()).body, { data: { environment: 'test', organizationId: api.organizationId } })
      t.match((await whoami({ 'x-svc-environment': 'live' })).body, { data: { environment: 'live' } })
      t.match(await whoami({ 'x-svc-environment': 'prod' }), {
        status: 400,
        body: {
          error: { code: 'validation_error', details: { issues: [{ path: 'header.x-svc-environment' }] } },
        },
      })
      const admin = await api.member('admin')
      const live = { 'x-svc-environment': 'live' }
      t.equal(
        (await admin.browser.send('POST', '/v1/probe/liveOnly')).status,
        204,
        'whatever the environment',
      )
      t.equal((await admin.browser.send('POST', '/v1/probe/liveOnly', { headers: live })).status, 204)
      t.match(await browser.send('POST', '/v1/probe/liveOnly', { headers: live }), {
        status: 403,
        ...refusal('forbidden'),
      })
      t.equal((await admin.browser.send('POST', '/v1/probe/testOnly')).status, 204)
      t.match(await admin.browser.send('POST', '/v1/probe/testOnly', { headers: live }), {
        status: 403,
        ...refusal('forbidden'),
      })

      const other = await api.owner()
      const inOther = { 'x-svc-organization': other.organizationId }
      t.match(await whoami(inOther), { status: 403, ...refusal('forbidden') })
      t.match(await whoami({ 'x-svc-organization': 'org_nonsense' }), {
        status: 403,
        ...refusal('forbidden'),
      })
      await database.db
        .insertInto('members')
        .values({ organizationId: other.organizationId, userId, role: 'viewer', createdAt: api.clock.wall() })
        .execute()
      t.match(await whoami(), {
        status: 400,
        body: { error: { code: 'bad_request', message: /x-svc-organization/ } },
      })
      t.match((await whoami(inOther)).body, {
        data: { organizationId: other.organizationId, scopes: ['read'] },
      })
      t.match((await whoami({ 'x-svc-organization': api.organizationId })).body, {
        data: { scopes: ['read', 'write'] },
      })
      await database.db.deleteFrom('members').where('userId', '=', userId).execute()
      t.match(await whoami(), { status: 403, ...refusal('forbidden') })
      t.match(await browser.send('GET', '/v1/auth/session'), {
        status: 200,
        body: { data: { organizations: [] } },
      })
    })

    await t.test('changes need the token and the origin', async (t) => {
      const { browser } = await api.member('owner')
      const another = await api.member('owner')
      const right = browser.cookies.get('svc_csrf') ?? ''
      const foreign = another.browser.cookies.get('svc_csrf') ?? ''
      const send = (request: { csrf?: string | null; origin?: string | null }) =>
        browser.send('POST', '/v1/probe/anyMember', request)
      t.equal((await send({})).status, 204)
      const denied = { status: 403, ...refusal('forbidden') }
      t.match(await send({ csrf: null }), denied, 'no token')
      t.match(
        await browser.send('POST', '/v1/probe/write', { csrf: null }),
        denied,
        'on the operations of keys as well',
      )
      t.match(await send({ csrf: '' }), denied, 'empty token')
      t.match(await send({ csrf: `${right}x` }), denied, 'wrong token')
      t.match(await send({ csrf: foreign }), denied, "another session's token")
      t.match(await send({ origin: null }), denied, 'no origin')
      t.match(await send({ origin: 'null' }), denied, 'opaque origin')
      t.match(await send({ origin: 'http://parley.test.evil.example' }), denied, 'other site')
      t.match(await send({ origin: 'https://parley.test' }), denied, 'other scheme')
      t.match(await send({ origin: 'http://parley.test:81' }), denied, 'other port')
      browser.cookies.set('svc_csrf', foreign)
      t.match(await send({ csrf: foreign }), denied, 'cookie and header agree, but belong to another session')
      t.match(await send({ csrf: right }), denied, 'the cookie must agree too')
      browser.cookies.delete('svc_csrf')
      t.match(await send({ csrf: right }), denied, 'no cookie')
      t.equal(
        (await browser.send('GET', '/v1/whoami', { origin: null, csrf: null })).status,
        200,
        'reading needs neither',
      )
    })

    await t.test('invalid session cookies', async (t) => {
      for (const value of ['', 'x', 'A'.repeat(43), '%00', `${'B'.repeat(43)}; svc_session=x`]) {
        const browser = new BrowserSession(api)
        browser.cookies.set('svc_session', value)
        t.match(
          await browser.send('GET', '/v1/auth/session'),
          { status: 401, ...refusal('unauthenticated') },
          value,
        )
        t.match(
          await browser.send('GET', '/v1/whoami'),
          { status: 401, ...refusal('unauthenticated') },
          value,
        )
      }
    })

    await t.test('a session ends after twelve idle hours or seven days', async (t) => {
      const hour = 3_600_000
      const status = async (browser: BrowserSession) => (await browser.send('GET', '/v1/auth/session')).status
      const { browser } = await api.member('owner')
      const idle = await api.member('owner')
      api.clock.advance(11 * hour)
      t.equal(await status(browser), 200)
      api.clock.advance(hour)
      t.equal(await status(idle.browser), 401, '12 hours without a request')
      for (let hours = 12; hours < 7 * 24; hours += 11) {
        t.equal(await status(browser), 200, `after ${hours} hours`)
        api.clock.advance(11 * hour)
      }
      t.equal(await status(browser), 401, 'seven days, however busy')
      t.ok((await sweepSessions(database.db, api.clock.wall())) > 0)
      t.same(await database.db.selectFrom('sessions').selectAll().execute(), [])
    })
    await api.close()
  })
})
