import t from 'tap'
import { BrowserSession, openUsersApi, type UsersApi } from '../../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { openPasswordHasher, type PasswordHasher } from '../../base/passwords.js'
import { accessOperations } from '../api.js'
import { addressGroup, throttle } from '../throttle.js'
import { DEVICE_COOKIE } from './cookies.js'
import { DEVICE_LIFE_MS, newDevice } from './known-device.js'

const OLD = 'first password'
const NEW = 'second password'

const refusal = (code: string) => ({ body: { error: { code } } })

/** Makes a verified account with the password OLD. */
async function account(api: UsersApi) {
  const person = await api.member('owner')
  const passwordHash = await api.deps.passwords.hash(OLD)
  await api.deps.db.updateTable('users').set({ passwordHash }).where('id', '=', person.userId).execute()
  return person
}

t.test('the throttle counts an IPv4 address or an IPv6 /64 prefix', async (t) => {
  t.equal(addressGroup('192.0.2.7'), '192.0.2.7')
  t.equal(addressGroup('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(addressGroup('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  t.equal(addressGroup('2001:db8:1:2::9'), '2001:db8:1:2')
  t.equal(addressGroup('2001:0db8::1'), '2001:db8:0:0')
  t.equal(addressGroup('::1'), '0:0:0:0')
  t.equal(addressGroup('fe80::1%eth0'), 'fe80:0:0:0')
})

t.test('checking the password of an unknown address costs as much as of a known one', async (t) => {
  // The stored parameters prove that both derivations have the same cost.
  const passwords = openPasswordHasher()
  const { unknownHash } = passwords
  const real = await passwords.hash(OLD)
  t.same(unknownHash.split('$').slice(0, 4), real.split('$').slice(0, 4))
  t.same(
    unknownHash.split('$').map((part) => part.length),
    real.split('$').map((part) => part.length),
  )
  t.equal(await passwords.verify('', unknownHash), false)
})

t.test('passwords', async (t) => {
  await onEachDialect(t, async (t, open, _engine) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations })
    const post = (path: string, json: object) => api.send('POST', path, { key: null, json })
    const logIn = (email: string, password: string) => post('/v1/auth/login', { email, password })
    const minute = () => api.clock.advance(60_000)

    await t.test(
      'forgotten password: only accounts get a link, every address gets the same response',
      async (t) => {
        const { email, browser } = await account(api)
        const answer = { status: 202, body: { data: { accepted: true } } }
        const known = await post('/v1/auth/password/forgot', { email: email.toUpperCase() })
        const unknown = await post('/v1/auth/password/forgot', { email: 'nobody@people.test' })
        t.match(known, answer)
        t.same(unknown.body, known.body)
        t.same(
          [...unknown.headers.keys()].sort(),
          [...known.headers.keys()].sort(),
          'nor do the headers tell them apart',
        )
        const token = await api.tokenFor(email)
        t.same(
          api.mails.filter(({ to }) => to === 'nobody@people.test'),
          [],
        )
        t.same(
          await database.db
            .selectFrom('mails')
            .selectAll()
            .where('recipient', '=', 'nobody@people.test')
            .execute(),
          [],
          'nothing is kept of the address',
        )

        const reset = (value: string, password: string) =>
          post('/v1/auth/password/reset', { token: value, password })
        t.match(await reset(token, 'short'), { status: 400, ...refusal('validation_error') })
        t.match(await reset('x'.repeat(43), NEW), { status: 400, ...refusal('invalid_token') })
        t.equal((await reset(token, NEW)).status, 204)
        t.match(await reset(token, 'third password'), { status: 400, ...refusal('invalid_token') })
        t.equal((await browser.send('GET', '/v1/auth/session')).status, 401, 'signed out everywhere')
        t.match(await logIn(email, OLD), { status: 401, ...refusal('invalid_credentials') })
        t.equal((await logIn(email, NEW)).status, 200)

        minute()
        await post('/v1/auth/password/forgot', { email })
        const first = await api.tokenFor(email)
        minute()
        await post('/v1/auth/password/forgot', { email })
        const second = await api.tokenFor(email)
        t.not(second, first)
        t.equal((await reset(first, OLD)).status, 204, 'the earlier link works as well')
        t.match(await reset(second, OLD), { status: 400, ...refusal('invalid_token') }, 'until one was used')
        minute()
        await post('/v1/auth/password/forgot', { email })
        const late = await api.tokenFor(email)
        api.clock.advance(3_600_000)
        t.match(await reset(late, NEW), { status: 400, ...refusal('token_expired') })
      },
    )

    await t.test('of two requests with one link only one succeeds', async (t) => {
      const { email } = await account(api)
      minute()
      await post('/v1/auth/password/forgot', { email })
      const token = await api.tokenFor(email)
      const answers = await Promise.all(
        ['password one', 'password two'].map((password) =>
          post('/v1/auth/password/reset', { token, password }),
        ),
      )
      t.same(answers.map(({ status }) => status).sort(), [204, 400])
    })

    await t.test('a link of one kind is not accepted as another', async (t) => {
      const { email } = await account(api)
      minute()
      await post('/v1/auth/password/forgot', { email })
      const token = await api.tokenFor(email)
      t.match(await post('/v1/auth/verify-email', { token }), { status: 400, ...refusal('invalid_token') })
      t.match(await post('/v1/invitations/accept', { token }), { status: 400, ...refusal('invalid_token') })
    })

    await t.test('a reset verifies the address of an account that another person signed up', async (t) => {
      minute()
      const email = 'victim@people.test'
      const json = { email, password: OLD, name: 'Squatter', organizationName: 'Squat' }
      t.equal((await post('/v1/signup', json)).status, 201)
      await post('/v1/auth/password/forgot', { email })
      await api.latestMailTo(email)
      const mail = api.mails.findLast(({ to, text }) => to === email && text.includes('/reset-password?'))
      const token = /\?token=(\w+)/.exec(mail?.text ?? '')?.[1]
      t.equal((await post('/v1/auth/password/reset', { token, password: NEW })).status, 204)
      t.equal((await logIn(email, NEW)).status, 200)
      t.equal((await logIn(email, OLD)).status, 401)
    })

    await t.test('changing the password requires the current one and ends all other sessions', async (t) => {
      minute()
      const { email, browser } = await account(api)
      const other = new BrowserSession(api)
      t.equal((await other.send('POST', '/v1/auth/login', { json: { email, password: OLD } })).status, 200)
      const change = (currentPassword: string, newPassword: string) =>
        browser.send('POST', '/v1/auth/password/change', { json: { currentPassword, newPassword } })
      t.match(await change('wrong password', NEW), { status: 401, ...refusal('invalid_credentials') })
      t.match(await change(OLD, 'short'), { status: 400, ...refusal('validation_error') })
      t.equal((await change(OLD, NEW)).status, 204)
      t.equal((await browser.send('GET', '/v1/auth/session')).status, 200)
      t.equal((await other.send('GET', '/v1/auth/session')).status, 401)
      t.match((await api.latestMailTo(email)).subject, /password was changed/)
      t.equal((await logIn(email, NEW)).status, 200)
    })

    await t.test('an unknown address is checked against a hash of the same cost', async (t) => {
      const hasher = openPasswordHasher()
      const checked: string[] = []
      const passwords: PasswordHasher = {
        ...hasher,
        verify: (password, stored) => {
          checked.push(stored)
          return hasher.verify(password, stored)
        },
      }
      const api = await openUsersApi({
        database: await open(),
        operations: accessOperations,
        deps: { passwords },
      })
      t.teardown(() => api.close())
      const { email } = await account(api)
      const errors: unknown[] = []
      for (const address of [email, 'ghost@people.test']) {
        const json = { email: address, password: 'wrong password' }
        const answer = await api.send('POST', '/v1/auth/login', { key: null, json })
        t.match(answer, { status: 401, ...refusal('invalid_credentials') })
        const { request_id, ...error } = (answer.body as { error: Record<string, unknown> }).error
        errors.push(error)
      }
      t.same(errors[0], errors[1], 'the answers do not differ')
      const costs = checked.map((stored) => stored.split('$').slice(0, 4).join('$'))
      t.equal(costs.length, 2, 'both are checked')
      t.equal(costs[0], costs[1])
    })

    await t.test('login attempts are limited per account, existing or not', async (t) => {
      const { email: known } = await account(api)
      minute()
      const guesses = Array.from({ length: 12 }, (_, i) => logIn(known, `guess ${i}`))
      const statuses = (await Promise.all(guesses)).map(({ status }) => status)
      t.same(statuses.sort(), [...Array(10).fill(401), 429, 429])
      t.equal((await logIn(known, OLD)).status, 429, 'the account waits, also with the right password')
      const owner = new BrowserSession(api)
      owner.cookies.set(DEVICE_COOKIE, newDevice(api.deps.rootKey, known, api.clock.wall()))
      const attempt = (browser: BrowserSession, password: string, email = known) =>
        browser.send('POST', '/v1/auth/login', { json: { email, password } })
      t.equal((await attempt(owner, OLD)).status, 200, 'but not in a browser that it used before')
      const thief = new BrowserSession(api)
      for (const [name, value] of [
        ['forged', `${'A'.repeat(22)}.${api.clock.wall() + 1000}.${'A'.repeat(43)}`],
        ['of another account', newDevice(api.deps.rootKey, 'thief@people.test', api.clock.wall())],
        ['expired', newDevice(api.deps.rootKey, known, api.clock.wall() - DEVICE_LIFE_MS)],
      ] as const) {
        thief.cookies.set(DEVICE_COOKIE, value)
        t.equal((await attempt(thief, OLD)).status, 429, name)
      }
      minute()
      const copied = owner.cookies.get(DEVICE_COOKIE) ?? ''
      thief.cookies.set(DEVICE_COOKIE, copied)
      const wrong = Array.from({ length: 12 }, (_, i) => attempt(thief, `guess ${i}`))
      const copies = (await Promise.all(wrong)).map(({ status }) => status)
      t.same(copies.sort(), [...Array(10).fill(401), 429, 429], 'such a browser has attempts of its own')
      t.equal((await logIn(known, OLD)).status, 200)
      minute()
      await Promise.all(Array.from({ length: 11 }, (_, i) => logIn(known, `guess ${i}`)))
      const changed = await owner.send('POST', '/v1/auth/password/change', {
        json: { currentPassword: OLD, newPassword: OLD },
      })
      t.equal(changed.status, 204, 'a session has attempts of its own as well')
      // Ten guesses at an unknown account would each cost a full scrypt; its counter is filled directly.
      const ghost = 'ghost@people.test'
      for (let i = 0; i < 10; i++) await throttle(api.deps, `password ${ghost}`, 10)
      for (const email of [known, ghost]) {
        const limited = await logIn(email, OLD)
        t.match(limited, {
          status: 429,
          body: { error: { code: 'rate_limited', details: { retry_after_seconds: 60 } } },
        })
        t.equal(limited.headers.get('retry-after'), '60')
      }
      minute()
    })
    await api.close()
  })
})

t.test('public operations are limited per address', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations })
    const limits: readonly [path: string, json: object, perMinute: number][] = [
      ['/v1/signup/email-available', { email: 'a@example.in' }, 10],
      ['/v1/signup', { email: 'not an address' }, 30],
      ['/v1/auth/login', {}, 30],
      ['/v1/auth/password/forgot', { email: 'a@example.in' }, 30],
      ['/v1/auth/password/reset', {}, 30],
      ['/v1/auth/verify-email', { token: 'x' }, 30],
      ['/v1/auth/verify-email/resend', { email: 'a@example.in' }, 30],
      ['/v1/invitations/accept', { token: 'x' }, 30],
    ]
    for (const [path, json, perMinute] of limits) {
      const send = async () => (await api.send('POST', path, { key: null, json })).status
      const statuses = await Promise.all(Array.from({ length: perMinute + 3 }, send))
      t.equal(statuses.filter((status) => status === 429).length, 3, `${path}: ${perMinute} a minute`)
      api.clock.advance(59_999)
      t.equal(await send(), 429)
      api.clock.advance(1)
      t.not(await send(), 429, 'and anew in the next one')
    }
    t.notMatch(JSON.stringify(await database.db.selectFrom('throttles').selectAll().execute()), '127.0.0.1')

    const counted = await Promise.all(Array.from({ length: 40 }, () => throttle(api.deps, 'one account', 7)))
    t.equal(counted.filter((refused) => refused === null).length, 7, 'exactly, however many at once')
    await api.close()
  })
})
