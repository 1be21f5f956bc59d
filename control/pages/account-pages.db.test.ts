import t from 'tap'
import { openUsersApi, type UsersApi } from '../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { accessOperations } from '../access/api.js'
import { CSRF_COOKIE, SIGN_UP_COOKIE } from '../access/sessions/cookies.js'

const ORIGIN = 'http://parley.test'
const PASSWORD = 'correct horse battery'

/** Asks for pages as a browser without scripts does. */
function openPages(api: UsersApi) {
  const read = async (response: Response) => ({
    response,
    status: response.status,
    text: await response.text(),
  })
  return {
    async get(path: string, cookie = '') {
      return read(await fetch(`${api.url}${path}`, { headers: { cookie } }))
    },
    async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
      return read(
        await fetch(`${api.url}${path}`, {
          method: 'POST',
          headers: { origin: ORIGIN, ...headers },
          body: new URLSearchParams(fields),
        }),
      )
    },
  }
}

/** Returns the names of the fields of a form. */
function fieldsOf(html: string): string[] {
  return [...html.matchAll(/<input[^>]* name="(\w+)"/g)].map((match) => String(match[1]))
}

t.test('the pages that mails link to', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations })
    const pages = openPages(api)
    const send = (path: string, json: object) => api.send('POST', path, { key: null, json })
    const logIn = async (email: string, password: string) =>
      (await send('/v1/auth/login', { email, password })).status
    /** Returns the path of the link in the newest mail. */
    const linkTo = async (email: string) => {
      const { text } = await api.latestMailTo(email)
      const url = /http:\/\/parley\.test(\/\S+)/.exec(text)?.[1]
      if (url === undefined) throw new Error(`no link in: ${text}`)
      return url
    }
    const tokenIn = (link: string) => new URLSearchParams(link.slice(link.indexOf('?'))).get('token') ?? ''

    await t.test('confirm an address and set the password', async (t) => {
      const email = 'asha@clinic.example'
      const organizationName = `<b>"Clinic" & 'Co'</b>`
      t.equal(
        (await send('/v1/signup', { email, password: 'a stranger chose it', organizationName })).status,
        201,
      )
      const link = await linkTo(email)
      t.match(link, /^\/verify-email\?token=\w{43}$/)
      for (let times = 0; times < 2; times++) {
        const page = await pages.get(link)
        t.equal(page.status, 200, 'a GET does not use up the link')
        t.same(fieldsOf(page.text), ['token', 'name', 'password'])
        t.match(page.text, 'for &lt;b&gt;&quot;Clinic&quot; &amp; &#39;Co&#39;&lt;/b&gt;.')
        t.notMatch(
          page.text,
          /<script|<style| style=| on\w+=|https?:/,
          'nothing inline, nothing from elsewhere',
        )
        const policy = page.response.headers.get('content-security-policy') ?? ''
        t.match(policy, /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/)
        t.notMatch(policy, /script-src|unsafe/)
        t.equal(page.response.headers.get('cache-control'), 'no-store')
        t.equal(page.response.headers.get('referrer-policy'), 'same-origin')
      }
      const token = tokenIn(link)
      const short = await pages.post('/verify-email', { token, name: 'A"sha', password: 'short' })
      t.equal(short.status, 400)
      t.match(short.text, /role="alert">[^<]*password: /)
      t.match(short.text, 'value="A&quot;sha"')
      t.match(short.text, `name="token" value="${token}"`, 'the form can be sent again')
      t.notMatch(short.text, 'short"')
      const done = await pages.post('/verify-email', { token, name: 'Asha', password: PASSWORD })
      t.equal(done.status, 200)
      t.match(done.text, 'Your address is confirmed')
      t.equal(await logIn(email, PASSWORD), 200)
      t.equal(await logIn(email, 'a stranger chose it'), 401)
      const again = await pages.get(link)
      t.equal(again.status, 400)
      t.match(again.text, 'href="resend-verification"')
      t.same(fieldsOf(again.text), [])
    })

    await t.test('the browser of the sign-up keeps its password', async (t) => {
      const email = 'ravi@clinic.example'
      const json = { email, password: PASSWORD, organizationName: 'Ravi' }
      const made = await send('/v1/signup', json)
      const cookie = made.headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; ')
      t.match(cookie, SIGN_UP_COOKIE)
      const link = await linkTo(email)
      t.same(fieldsOf((await pages.get(link, cookie)).text), ['token'])
      t.same(fieldsOf((await pages.get(link, `${SIGN_UP_COOKIE}=x`)).text), ['token', 'name', 'password'])
      const done = await pages.post('/verify-email', { token: tokenIn(link) }, { cookie })
      t.equal(done.status, 200)
      t.match(done.response.headers.getSetCookie(), [/^svc_signup=; .*Max-Age=0/])
      t.equal(await logIn(email, PASSWORD), 200)
    })

    await t.test('request and set a new password', async (t) => {
      const { email, browser } = await api.member('owner')
      api.clock.advance(60_000)
      const asked = await pages.post('/forgot-password', { email })
      const unknown = await pages.post('/forgot-password', { email: 'nobody@people.test' })
      t.equal(asked.status, 200)
      t.equal(asked.text, unknown.text, 'the page does not tell whether the account exists')
      const link = await linkTo(email)
      t.same(fieldsOf((await pages.get(link)).text), ['token', 'password'])
      const set = await pages.post('/reset-password', { token: tokenIn(link), password: PASSWORD })
      t.equal(set.status, 200)
      t.match(set.response.headers.getSetCookie(), [/^svc_device=/])
      t.equal(await logIn(email, PASSWORD), 200)
      t.equal((await browser.send('GET', '/v1/auth/session')).status, 401)
      t.match((await pages.get(link)).text, 'href="forgot-password"')
      t.match((await pages.get('/forgot-password')).text, 'type="email"')
      t.same(
        fieldsOf((await pages.get('/reset-password')).text),
        ['token', 'password'],
        'the code can be typed',
      )
    })

    await t.test('accept an invitation, with and without an account', async (t) => {
      const owner = await api.member('owner')
      const member = await api.owner()
      const invite = (email: string) =>
        owner.browser.send('POST', '/v1/organization/invitations', { json: { email, role: 'developer' } })
      t.equal((await invite(member.email)).status, 201)
      const known = await linkTo(member.email)
      const page = await pages.get(known)
      t.match(page.text, 'is invited to My workspace with the role developer.')
      t.same(fieldsOf(page.text), ['token'])
      t.equal((await pages.post('/accept-invitation', { token: tokenIn(known) })).status, 200)
      t.equal((await invite('new@people.test')).status, 201)
      const fresh = await linkTo('new@people.test')
      t.same(fieldsOf((await pages.get(fresh)).text), ['token', 'name', 'password'])
      const fields = { token: tokenIn(fresh), name: 'New', password: PASSWORD }
      t.equal((await pages.post('/accept-invitation', { ...fields, name: '' })).status, 400)
      t.equal((await pages.post('/accept-invitation', fields)).status, 200)
      t.equal(await logIn('new@people.test', PASSWORD), 200)
      t.equal((await pages.post('/accept-invitation', fields)).status, 400)
    })

    await t.test('forms of other sites and other requests change nothing', async (t) => {
      const { email, userId } = await api.member('owner')
      api.clock.advance(60_000)
      await send('/v1/auth/password/forgot', { email })
      const token = tokenIn(await linkTo(email))
      const fields = { token, password: PASSWORD }
      for (const origin of [
        'http://evil.example',
        'null',
        'https://parley.test',
        'http://parley.test.evil.example',
      ]) {
        t.equal((await pages.post('/reset-password', fields, { origin })).status, 403, origin)
      }
      const bare = await fetch(`${api.url}/reset-password`, {
        method: 'POST',
        body: new URLSearchParams(fields),
      })
      t.equal(bare.status, 403, 'no origin')
      const json = { 'content-type': 'application/json' }
      t.equal((await pages.post('/reset-password', fields, json)).status, 400)
      t.equal((await pages.post('/forgot-password', { email: 'a\0b' })).status, 400)
      t.equal((await pages.post('/reset-password', { ...fields, password: 'x'.repeat(20_000) })).status, 400)
      const user = await database.db
        .selectFrom('users')
        .selectAll()
        .where('id', '=', userId)
        .executeTakeFirstOrThrow()
      t.equal(user.passwordHash, 'none')
      const { response } = await pages.get('/reset-password', `${CSRF_COOKIE}=x`)
      t.equal(response.headers.get('access-control-allow-origin'), null)
    })

    await t.test('the limit of the operation holds for its form', async (t) => {
      api.clock.advance(60_000)
      const fields = { token: 'x'.repeat(43), password: PASSWORD }
      const sent = Array.from({ length: 33 }, () => pages.post('/reset-password', fields))
      const limited = (await Promise.all(sent)).filter(({ status }) => status === 429)
      t.equal(limited.length, 3)
      t.match(limited[0]?.response.headers.get('retry-after'), /^\d+$/)
    })
    await api.close()
  })
})
