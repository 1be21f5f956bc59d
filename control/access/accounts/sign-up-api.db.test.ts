import t from 'tap'
import { BrowserSession, openUsersApi } from '../../../fixtures/api/browser-session.js'
import { cheapPasswords } from '../../../fixtures/api/cheap-passwords.js'
import { takeSandboxNumbers } from '../../../fixtures/api/sandbox-numbers.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { listNumbers } from '../../numbers/api.js'
import { accessOperations } from '../api.js'

const PASSWORD = 'correct horse battery'

t.test('sign-up and login', async (t) => {
  await onEachDialect(t, async (t, open) => {
    await t.test('from sign-up to logout', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: [...accessOperations, listNumbers] })
      const browser = new BrowserSession(api)
      const available = async (email: string) =>
        (await browser.send('POST', '/v1/signup/email-available', { json: { email } })).body
      t.same(await available('Asha@Example.in'), { data: { available: true } })

      const signUp = {
        email: 'Asha@Example.in',
        password: PASSWORD,
        name: 'Asha',
        organizationName: 'Asha & Co',
      }
      const made = await browser.send('POST', '/v1/signup', { json: signUp })
      t.match(made, {
        status: 201,
        body: { data: { userId: /^usr_/, organizationId: /^org_/, email: 'asha@example.in' } },
      })
      t.same(await available('asha@example.IN'), { data: { available: false } }, 'in any case')
      t.match(await browser.send('POST', '/v1/signup', { json: { ...signUp, email: 'ASHA@example.in' } }), {
        status: 409,
        body: { error: { code: 'email_exists', type: 'conflict' } },
      })
      const wrong: readonly [change: object, path: string][] = [
        [{ email: 'asha' }, 'email'],
        [{ email: 'asha@example.in\nBcc: x@example.in' }, 'email'],
        [{ password: 'nine char' }, 'password'],
        [{ name: '' }, 'name'],
        [{ name: 'Asha\nClick here' }, 'name'],
        [{ organizationName: 'A\u0007' }, 'organizationName'],
        [{ role: 'owner' }, 'role'],
      ]
      for (const [change, path] of wrong) {
        t.match(await browser.send('POST', '/v1/signup', { json: { ...signUp, ...change } }), {
          status: 400,
          body: { error: { code: 'validation_error', details: { issues: [{ path }] } } },
        })
      }
      t.match(
        await database.db.selectFrom('organizations').selectAll().where('name', '=', 'Asha & Co').execute(),
        [{ senderClassification: null }],
        'the classification is not set',
      )

      const logIn = { email: 'asha@example.in', password: PASSWORD }
      t.match(await browser.send('POST', '/v1/auth/login', { json: logIn }), {
        status: 403,
        body: { error: { code: 'email_not_verified' } },
      })
      t.same([...browser.cookies.keys()], ['svc_signup'], 'nobody is signed in')
      t.match(
        await browser.send('POST', '/v1/auth/login', { json: { ...logIn, password: 'wrong' } }),
        {
          status: 401,
          body: { error: { code: 'invalid_credentials' } },
        },
        'a wrong password does not tell that the address waits',
      )

      const token = await api.tokenFor('asha@example.in')
      t.match((await api.latestMailTo('asha@example.in')).text, 'http://parley.test/verify-email?token=')
      const verify = (value: string) =>
        browser.send('POST', '/v1/auth/verify-email', { json: { token: value } })
      t.match(await verify('nonsense'), { status: 400, body: { error: { code: 'invalid_token' } } })
      t.match(await verify(token), { status: 200, body: { data: { email: 'asha@example.in' } } })
      t.match(await verify(token), { status: 400, body: { error: { code: 'invalid_token' } } }, 'single use')

      const signedIn = await browser.send('POST', '/v1/auth/login', { json: logIn })
      t.match(signedIn, {
        status: 200,
        body: {
          data: {
            user: { email: 'asha@example.in', name: 'Asha', staff: false },
            organizations: [{ name: 'Asha & Co', role: 'owner' }],
            csrfToken: browser.cookies.get('svc_csrf'),
            expiresAt: new Date(api.clock.wall() + 7 * 86_400_000).toISOString(),
          },
        },
      })
      const [session = '', csrf = ''] = signedIn.headers.getSetCookie()
      t.match(session, /^svc_session=[0-9A-Za-z]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
      t.match(csrf, /^svc_csrf=[\w-]{43}; Path=\/; Max-Age=604800; SameSite=Lax$/)
      const stored = JSON.stringify(await database.db.selectFrom('sessions').selectAll().execute())
      t.notMatch(stored, browser.cookies.get('svc_session') ?? 'none', 'the cookie is not stored')

      t.match(await browser.send('GET', '/v1/auth/session'), {
        status: 200,
        body: { data: { user: { name: 'Asha' } } },
      })
      t.match(
        await browser.send('GET', '/v1/numbers'),
        { status: 200, body: { data: [{ e164: '+919000000100', environment: 'test' }] } },
        'the organization has its sandbox number, and sessions call key operations',
      )
      t.match(await browser.send('GET', '/v1/whoami'), {
        body: { data: { keyId: null, environment: 'test', scopes: ['read', 'write', 'admin'] } },
      })

      const copy = new BrowserSession(api)
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
      const out = await browser.send('POST', '/v1/auth/logout')
      t.equal(out.status, 204)
      t.match(out.headers.getSetCookie(), [/^svc_session=; .*Max-Age=0; HttpOnly/, /^svc_csrf=; .*Max-Age=0/])
      t.same([...browser.cookies.keys()], ['svc_device'])
      t.match(
        await copy.send('GET', '/v1/auth/session'),
        {
          status: 401,
          body: { error: { code: 'unauthenticated' } },
        },
        'the session is over, not only forgotten by the browser',
      )
      await api.close()
    })

    await t.test('the password of a stranger does not survive the confirmation', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: accessOperations })
      const email = 'victim@corp.example'
      const stranger = new BrowserSession(api)
      const victim = new BrowserSession(api)
      const json = { email, password: 'the stranger knows', name: 'Stranger', organizationName: 'Corp' }
      t.equal((await stranger.send('POST', '/v1/signup', { json })).status, 201)
      // The cookie of another account proves nothing.
      const own = { ...json, email: 'stranger@evil.example' }
      t.equal((await victim.send('POST', '/v1/signup', { json: own })).status, 201)
      const token = await api.tokenFor(email)
      const verify = (more: object) =>
        victim.send('POST', '/v1/auth/verify-email', { json: { token, ...more } })
      const issues = { issues: [{ path: 'password' }] }
      t.match(await verify({}), {
        status: 400,
        body: { error: { code: 'validation_error', details: issues } },
      })
      t.match(await verify({ password: 'short' }), { status: 400, body: { error: { details: issues } } })
      t.equal((await verify({ password: PASSWORD, name: 'Victim' })).status, 200, 'the link was not used up')
      const logIn = (password: string) =>
        api.send('POST', '/v1/auth/login', { key: null, json: { email, password } })
      t.equal((await logIn('the stranger knows')).status, 401)
      t.match(await logIn(PASSWORD), { status: 200, body: { data: { user: { name: 'Victim' } } } })
      await api.close()
    })

    await t.test('a sign-up with an address and the name of the organization only', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: accessOperations })
      const browser = new BrowserSession(api)
      const email = 'asha@clinic.example'
      const json = { email, organizationName: 'Clinic' }
      t.equal((await browser.send('POST', '/v1/signup', { json })).status, 201)
      t.same([...browser.cookies], [], 'there is no password to keep')
      const token = await api.tokenFor(email)
      const verify = (more: object) =>
        browser.send('POST', '/v1/auth/verify-email', { json: { token, ...more } })
      t.equal((await verify({})).status, 400)
      t.equal((await verify({ password: PASSWORD })).status, 200)
      t.match(await browser.send('POST', '/v1/auth/login', { json: { email, password: PASSWORD } }), {
        status: 200,
        body: { data: { user: { name: 'asha' } } },
      })
      await api.close()
    })

    await t.test('a verification link does not set the password of a verified account', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: accessOperations })
      const email = 'asha@clinic.example'
      const post = (path: string, json: object) => api.send('POST', path, { key: null, json })
      t.equal((await post('/v1/signup', { email, organizationName: 'Clinic' })).status, 201)
      const token = await api.tokenFor(email)
      t.equal((await post('/v1/auth/password/forgot', { email })).status, 202)
      const reset = await api.tokenFor(email)
      t.equal((await post('/v1/auth/password/reset', { token: reset, password: PASSWORD })).status, 204)
      t.match(await post('/v1/auth/verify-email', { token, password: 'another password' }), {
        status: 400,
        body: { error: { code: 'invalid_token' } },
      })
      t.equal((await post('/v1/auth/login', { email, password: PASSWORD })).status, 200)
      await api.close()
    })

    await t.test('a verification does not need a free sandbox number', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: [...accessOperations, listNumbers] })
      await takeSandboxNumbers(database.db, api.organizationId, 100, api.clock.wall())
      const browser = new BrowserSession(api)
      const email = 'late@clinic.example'
      const post = (path: string, json: object) => browser.send('POST', path, { json })
      t.equal((await post('/v1/signup', { email, organizationName: 'Late' })).status, 201)
      const token = await api.tokenFor(email)
      t.equal((await post('/v1/auth/verify-email', { token, password: PASSWORD })).status, 200)
      const logIn = async () => (await post('/v1/auth/login', { email, password: PASSWORD })).status
      t.equal(await logIn(), 200)
      t.match(await browser.send('GET', '/v1/numbers'), { status: 200, body: { data: [] } })
      api.clock.advance(3_600_000 + 10_000)
      t.equal(await logIn(), 200)
      t.match(
        await browser.send('GET', '/v1/numbers'),
        { status: 200, body: { data: [{ e164: '+919000000100' }] } },
        'the next sign-in tries again',
      )
      await api.close()
    })

    await t.test('an invalid link costs no password hash', async (t) => {
      let hashed = 0
      const passwords = {
        ...cheapPasswords,
        hash: (password: string) => {
          hashed++
          return cheapPasswords.hash(password)
        },
      }
      const database = await open()
      const api = await openUsersApi({ database, operations: accessOperations, deps: { passwords } })
      hashed = 0
      for (const path of ['/v1/auth/verify-email', '/v1/auth/password/reset', '/v1/invitations/accept']) {
        const json = { token: 'x'.repeat(43), password: PASSWORD }
        t.match(await api.send('POST', path, { key: null, json }), {
          status: 400,
          body: { error: { code: 'invalid_token' } },
        })
      }
      t.equal(hashed, 0)
      await api.close()
    })

    await t.test('confirmation links expire and can be sent again', async (t) => {
      const database = await open()
      const api = await openUsersApi({ database, operations: accessOperations })
      const email = 'ravi@example.in'
      const json = { email, password: PASSWORD, name: 'Ravi', organizationName: 'Ravi' }
      t.equal((await api.send('POST', '/v1/signup', { key: null, json })).status, 201)
      const first = await api.tokenFor(email)
      const verify = (token: string) =>
        api.send('POST', '/v1/auth/verify-email', { key: null, json: { token, password: PASSWORD } })
      const resend = (address: string) =>
        api.send('POST', '/v1/auth/verify-email/resend', { key: null, json: { email: address } })

      const answer = { status: 202, body: { data: { accepted: true } } }
      t.match(await resend(email), answer)
      t.match(await resend('nobody@example.in'), answer)
      t.match(await resend('owner@localhost'), answer)
      await api.latestMailTo(email)
      t.equal(api.mails.length, 1, 'one mail a minute, none to unknown and none to verified addresses')

      api.clock.advance(24 * 3_600_000)
      t.match(await verify(first), { status: 400, body: { error: { code: 'token_expired' } } })
      t.match(await resend(email), answer)
      const second = await api.tokenFor(email)
      t.not(second, first)
      t.equal((await verify(second)).status, 200)
      t.match(await resend(email), answer)
      await api.latestMailTo(email)
      t.equal(api.mails.length, 2, 'nothing is left to confirm')
      t.same(await database.db.selectFrom('mails').select('state').execute(), [
        { state: 'sent' },
        { state: 'sent' },
      ])
      await api.close()
    })
  })
})
