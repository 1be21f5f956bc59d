import t from 'tap'
import { SoftAuthenticator } from '../../../fixtures/api/authenticator.js'
import { BrowserSession, openUsersApi, type UsersApi } from '../../../fixtures/api/browser-session.js'
import { dataOf, enrolTotp, totpCode } from '../../../fixtures/api/second-factor.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { organizationOperations } from '../../organization/api.js'
import { accessOperations, whoami } from '../api.js'
import { WRONG_CODES_PER_DAY } from './proof.js'
import { sweepFactors } from './store.js'

const PASSWORD = 'a good password'
const ORIGIN = 'https://voice.example'
const refusal = (code: string) => ({ body: { error: { code } } })

interface Challenge {
  readonly challengeId: string
  readonly factors: readonly string[]
  readonly passkey: { readonly challenge: string; readonly rpId: string } | null
  readonly expiresAt: string
}

/** Opens the API at an https address, where browsers make passkeys. */
async function open(database: Parameters<typeof openUsersApi>[0]['database']): Promise<UsersApi> {
  const operations = [...accessOperations, ...organizationOperations]
  return openUsersApi({ database, operations, deps: { publicUrl: () => ORIGIN } })
}

/** Makes a verified account with a password, signed in. */
async function account(api: UsersApi, kind: 'member' | 'staff' = 'member') {
  const person = kind === 'staff' ? await api.staff() : await api.member('owner')
  const passwordHash = await api.deps.passwords.hash(PASSWORD)
  await api.deps.db.updateTable('users').set({ passwordHash }).where('id', '=', person.userId).execute()
  return person
}

/** Sends the right password from a new browser. */
async function logIn(api: UsersApi, email: string) {
  const browser = new BrowserSession(api)
  const answer = await browser.send('POST', '/v1/auth/login', { json: { email, password: PASSWORD } })
  return { browser, answer }
}

async function challenged(api: UsersApi, email: string) {
  const { browser, answer } = await logIn(api, email)
  const { status, body } = answer
  if (status !== 401) throw new Error(`${status}: ${JSON.stringify(body)}`)
  const { details } = (body as { error: { details: Challenge } }).error
  const verify = (proof: object) =>
    browser.send('POST', '/v1/auth/login/verify', { json: { challengeId: details.challengeId, ...proof } })
  return { browser, answer, challenge: details, verify }
}

t.test('second factors', async (t) => {
  await onEachDialect(t, async (t, openDatabase, _engine) => {
    const database = await openDatabase()
    const api = await open(database)
    const { clock } = api
    const { db } = database
    const minute = () => clock.advance(60_000)
    const code = (secret: string) => totpCode(secret, clock.wall())

    await t.test('an authenticator app: added, asked for at the sign-in, each code once', async (t) => {
      const { email, userId, browser } = await account(api)
      const elsewhere = await logIn(api, email)
      t.equal(elsewhere.answer.status, 200, 'without a factor the password suffices')

      t.match(await browser.send('GET', '/v1/auth/factors'), {
        status: 200,
        body: { data: { factors: [], recoveryCodesLeft: 0, passkeyOrigin: ORIGIN } },
      })
      const begun = await browser.send('POST', '/v1/auth/factors', {
        json: { kind: 'totp', name: 'Telephone' },
      })
      const { id, totp } = dataOf<{ id: string; totp: { secret: string; uri: string } }>(begun, 201)
      t.match(totp.secret, /^[A-Z2-7]{32}$/, '160 bits')
      t.match(totp.uri, /^otpauth:\/\/totp\/Parley:.+secret=[A-Z2-7]{32}&algorithm=SHA1&digits=6&period=30$/)
      const stored = await db
        .selectFrom('secondFactors')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      t.notOk(JSON.stringify(stored).includes(totp.secret), 'the secret is encrypted')
      t.equal((await logIn(api, email)).answer.status, 200, 'a factor counts once it is confirmed')

      const confirm = (json: object) => browser.send('POST', `/v1/auth/factors/${id}/confirm`, { json })
      t.match(await confirm({ code: code('A'.repeat(32)) }), {
        status: 422,
        ...refusal('unprocessable_entity'),
      })
      t.match(await confirm({}), { status: 400, ...refusal('validation_error') })
      const first = code(totp.secret)
      const confirmed = await confirm({ code: first })
      const { recoveryCodes } = dataOf<{ recoveryCodes: string[] }>(confirmed, 200)
      t.equal(recoveryCodes.length, 10)
      t.equal(new Set(recoveryCodes).size, 10)
      for (const recovery of recoveryCodes)
        t.match(recovery, /^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/)
      const rows = await db.selectFrom('recoveryCodes').selectAll().where('userId', '=', userId).execute()
      t.notOk(
        recoveryCodes.some((recovery) => JSON.stringify(rows).includes(recovery)),
        'only hashes are stored',
      )
      t.equal((await elsewhere.browser.send('GET', '/v1/auth/session')).status, 401, 'other sessions end')
      t.match(await browser.send('GET', '/v1/auth/session'), {
        body: { data: { secondFactor: { enrolled: true, proven: true } } },
      })
      t.match(await confirm({ code: code(totp.secret) }), { status: 404 }, 'it is confirmed once')

      minute()
      const { browser: next, answer, challenge, verify } = await challenged(api, email)
      t.match(answer, { status: 401, ...refusal('mfa_required') })
      t.same(answer.headers.getSetCookie(), [], 'no cookie without the second factor')
      t.same(challenge.factors, ['totp', 'recovery_code'])
      t.equal(Date.parse(challenge.expiresAt), clock.wall() + 300_000)
      t.match(
        await verify({ code: first }),
        { status: 401, ...refusal('invalid_credentials') },
        'an old code',
      )
      t.match(
        await verify({ code: code(totp.secret), recoveryCode: 'x' }),
        { status: 400 },
        'one proof at a time',
      )
      const started = await verify({ code: code(totp.secret) })
      t.match(started, {
        status: 200,
        body: { data: { user: { id: userId }, secondFactor: { proven: true } } },
      })
      t.match(
        started.headers.getSetCookie().map((line) => line.split('=')[0]),
        ['svc_session', 'svc_csrf', 'svc_device'],
      )
      t.equal((await next.send('GET', '/v1/auth/session')).status, 200)
      t.match(
        await verify({ code: code(totp.secret) }),
        { status: 400, ...refusal('invalid_token') },
        'used up',
      )
      const replay = await challenged(api, email)
      t.match(
        await replay.verify({ code: code(totp.secret) }),
        { status: 401, body: { error: { details: { triesLeft: 4 } } } },
        'a code that was accepted is not accepted again',
      )
      t.match((await api.latestMailTo(email)).subject, /second factor was added/)
    })

    await t.test('of two sign-ins at the same time with one code only one succeeds', async (t) => {
      const { email, browser } = await account(api)
      const { secret } = await enrolTotp(browser, clock.wall())
      minute()
      const [one, two] = [await challenged(api, email), await challenged(api, email)]
      const answers = await Promise.all([one, two].map(({ verify }) => verify({ code: code(secret) })))
      t.same(answers.map(({ status }) => status).sort(), [200, 401])
    })

    await t.test('five tries, five minutes', async (t) => {
      const { email, browser } = await account(api)
      const { secret } = await enrolTotp(browser, clock.wall())
      minute()
      const { verify } = await challenged(api, email)
      for (const triesLeft of [4, 3, 2, 1, 0]) {
        t.match(await verify({ code: code('A'.repeat(32)) }), {
          status: 401,
          body: { error: { code: 'invalid_credentials', details: { triesLeft } } },
        })
      }
      t.match(
        await verify({ code: code(secret) }),
        { status: 400, ...refusal('invalid_token') },
        'the right one too',
      )
      t.match(
        (await api.latestMailTo(email)).subject,
        /Wrong second factors/,
        'the owner of the account hears of it',
      )
      minute()
      const late = await challenged(api, email)
      clock.advance(300_000)
      t.match(await late.verify({ code: code(secret) }), { status: 400, ...refusal('token_expired') })
      await sweepFactors(db, clock.wall())
      t.match(await late.verify({ code: code(secret) }), { status: 400, ...refusal('invalid_token') })
      t.match(
        await api.send('POST', '/v1/auth/login/verify', {
          key: null,
          json: { challengeId: 'mfc_01JZ0000000000000000000000', code: '123456' },
        }),
        { status: 400, ...refusal('invalid_token') },
      )
    })

    await t.test('guessing is limited by the minute and by the day; a passkey still works', async (t) => {
      const { email, browser } = await account(api)
      const { secret } = await enrolTotp(browser, clock.wall())
      const passkey = new SoftAuthenticator(ORIGIN)
      const begun = await browser.send('POST', '/v1/auth/factors', { json: { kind: 'passkey' } })
      const made = dataOf<{ id: string; passkey: Parameters<SoftAuthenticator['create']>[0] }>(begun, 201)
      const json = { attestation: passkey.create(made.passkey) }
      t.equal((await browser.send('POST', `/v1/auth/factors/${made.id}/confirm`, { json })).status, 200)
      const wrong = code('A'.repeat(32))
      let refused = 0
      for (let round = 0; refused < WRONG_CODES_PER_DAY; round++) {
        minute()
        for (const _ of [1, 2]) {
          const { verify } = await challenged(api, email)
          for (let i = 0; i < 5; i++) if ((await verify({ code: wrong })).status === 401) refused++
        }
        const { verify } = await challenged(api, email)
        const limited = await verify({ code: code(secret) })
        t.match(limited, { status: 429, ...refusal('rate_limited') }, `eleventh try of minute ${round}`)
        t.ok(Number(limited.headers.get('retry-after')) >= 1)
      }
      minute()
      const { verify } = await challenged(api, email)
      const limited = await verify({ code: code(secret) })
      t.match(limited, { status: 429, ...refusal('rate_limited') })
      t.ok(Number(limited.headers.get('retry-after')) > 23 * 3600, 'until the first wrong code is a day old')
      const { verify: again, challenge } = await challenged(api, email)
      t.equal((await again({ assertion: passkey.get(challenge.passkey ?? { challenge: '' }) })).status, 200)
      clock.advance(24 * 3_600_000)
      const tomorrow = await challenged(api, email)
      t.equal((await tomorrow.verify({ code: code(secret) })).status, 200)
    })

    await t.test('passkeys', async (t) => {
      const { email, browser } = await account(api)
      const passkey = new SoftAuthenticator(ORIGIN)
      const begin = async () => {
        const begun = await browser.send('POST', '/v1/auth/factors', {
          json: { kind: 'passkey', name: 'Laptop' },
        })
        return dataOf<{ id: string; passkey: Parameters<SoftAuthenticator['create']>[0] }>(begun, 201)
      }
      const made = await begin()
      t.match(made.passkey, {
        rp: { id: 'voice.example', name: 'Parley' },
        user: { name: email },
        attestation: 'none',
      })
      const confirm = (attestation: object, id = made.id) =>
        browser.send('POST', `/v1/auth/factors/${id}/confirm`, { json: { attestation } })
      t.match(await confirm(passkey.create(made.passkey, 'https://voice.example.evil.test')), {
        status: 422,
        body: { error: { message: /https:\/\/voice\.example only/, details: { path: 'attestation' } } },
      })
      t.match(await confirm(passkey.create({ ...made.passkey, challenge: 'AAAA' })), { status: 422 })
      const confirmed = await confirm(passkey.create(made.passkey))
      t.match(confirmed, { status: 200, body: { data: { factor: { kind: 'passkey', name: 'Laptop' } } } })
      const second = await begin()
      t.match(second.passkey, { excludeCredentials: [{ id: passkey.credentialId.toString('base64url') }] })
      t.match(await confirm(passkey.create(second.passkey), second.id), { status: 422 }, 'once')

      minute()
      const { challenge, verify } = await challenged(api, email)
      t.same(challenge.factors, ['passkey', 'recovery_code'])
      const options = challenge.passkey
      if (options === null) throw new Error('no options')
      t.match(options, { rpId: 'voice.example', allowCredentials: [{ transports: ['internal'] }] })
      t.match(
        await verify({ assertion: new SoftAuthenticator(ORIGIN).get(options) }),
        { status: 401 },
        'unknown',
      )
      t.match(await verify({ assertion: passkey.get({ ...options, challenge: 'AAAA' }) }), { status: 401 })
      const forged = passkey.get(options)
      const { signature } = new SoftAuthenticator(ORIGIN).get(options).response
      t.match(await verify({ assertion: { ...forged, response: { ...forged.response, signature } } }), {
        status: 401,
      })
      t.match(await verify({ assertion: passkey.get(options, 'https://phish.test') }), { status: 422 })
      passkey.counter = 7
      const assertion = passkey.get(options)
      t.equal((await verify({ assertion })).status, 200)
      const clone = await challenged(api, email)
      passkey.counter = 3
      t.match(
        await clone.verify({ assertion: passkey.get(clone.challenge.passkey ?? options) }),
        { status: 401 },
        'the counter of a copy fell behind (section 6.1.1)',
      )
      t.match(await clone.verify({ assertion }), { status: 401 }, 'an answer to another challenge')
    })

    await t.test('recovery codes', async (t) => {
      const { email, userId, browser } = await account(api)
      const { recoveryCodes } = await enrolTotp(browser, clock.wall())
      const [used = '', other = ''] = recoveryCodes ?? []
      minute()
      const { verify } = await challenged(api, email)
      t.match(await verify({ recoveryCode: 'abcd-abcd-abcd-abcd' }), { status: 401 })
      t.match(await verify({ recoveryCode: 'short' }), { status: 401 })
      t.equal((await verify({ recoveryCode: ` ${used.toUpperCase().replaceAll('-', ' ')}` })).status, 200)
      t.match((await api.latestMailTo(email)).subject, /recovery code .* was used/)
      const again = await challenged(api, email)
      t.match(await again.verify({ recoveryCode: used }), { status: 401 }, 'once')
      t.match(
        await db
          .selectFrom('accountEvents')
          .where('userId', '=', userId)
          .select(['action', 'kind'])
          .orderBy('id', 'desc')
          .limit(2)
          .execute(),
        [
          { action: 'second_factor.refused', kind: 'recovery_code' },
          { action: 'session.started', kind: 'recovery_code' },
        ],
      )
      t.match(await browser.send('GET', '/v1/auth/factors'), { body: { data: { recoveryCodesLeft: 9 } } })

      const renewing = await browser.send('POST', '/v1/auth/recovery-codes')
      t.match(renewing, { status: 401, ...refusal('mfa_required') }, 'an open session does not suffice')
      const { challengeId } = (renewing.body as { error: { details: Challenge } }).error.details
      const proof = { json: { challengeId, recoveryCode: other } }
      t.match(
        await new BrowserSession(api).send('POST', '/v1/auth/login/verify', proof),
        { status: 400, ...refusal('invalid_token') },
        'a proof that a change asked for starts no session',
      )
      const proven = await browser.send('POST', '/v1/auth/login/verify', proof)
      t.match(proven, { status: 200, body: { data: { user: { id: userId } } } })
      t.same(proven.headers.getSetCookie(), [], 'the session stays')
      const renewed = await browser.send('POST', '/v1/auth/recovery-codes')
      const fresh = dataOf<{ recoveryCodes: string[] }>(renewed, 201).recoveryCodes
      t.equal(fresh.length, 10)
      minute()
      const last = await challenged(api, email)
      t.match(
        await last.verify({ recoveryCode: recoveryCodes?.[2] }),
        { status: 401 },
        'earlier codes are void',
      )
      t.equal((await last.verify({ recoveryCode: fresh[0] })).status, 200)
    })

    await t.test('removing a factor needs a factor; an open session may not add one either', async (t) => {
      const { email, browser } = await account(api)
      const { id, secret } = await enrolTotp(browser, clock.wall())
      const remove = () => browser.send('DELETE', `/v1/auth/factors/${id}`)
      const asked = await remove()
      t.match(asked, { status: 401, ...refusal('mfa_required') }, 'also right after it was added')
      clock.advance(11 * 60_000)
      t.match(await browser.send('POST', '/v1/auth/factors', { json: { kind: 'totp' } }), {
        status: 401,
        ...refusal('mfa_required'),
      })
      const other = await account(api)
      t.match(
        await other.browser.send('DELETE', `/v1/auth/factors/${id}`),
        { status: 404 },
        'of somebody else',
      )
      const details = ((await remove()).body as { error: { details: Challenge } }).error.details
      const json = { challengeId: details.challengeId, code: code(secret) }
      t.equal((await browser.send('POST', '/v1/auth/login/verify', { json })).status, 200)
      t.equal((await remove()).status, 204)
      t.match((await api.latestMailTo(email)).subject, /was removed/)
      t.match(await browser.send('GET', '/v1/auth/factors'), {
        body: { data: { factors: [], recoveryCodesLeft: 0 } },
      })
      t.equal((await logIn(api, email)).answer.status, 200, 'the password suffices again')
      const audit = await browser.send('GET', '/v1/organization/audit-log')
      const actions = (audit.body as { data: { action: string; subject: { type: string } }[] }).data
      t.match(
        actions.slice(0, 2).map(({ action, subject }) => [action, subject.type]),
        [
          ['member.second_factor_removed', 'member'],
          ['member.second_factor_added', 'member'],
        ],
      )
      const events = await browser.send('GET', '/v1/auth/events')
      t.match(
        (events.body as { data: { action: string }[] }).data.map(({ action }) => action),
        ['second_factor.removed', 'session.proven', 'second_factor.added'],
      )
    })

    await t.test('a new password lets nobody past the second factor', async (t) => {
      const { email, browser } = await account(api)
      const { secret } = await enrolTotp(browser, clock.wall())
      minute()
      const waiting = await challenged(api, email)
      await api.send('POST', '/v1/auth/password/forgot', { key: null, json: { email } })
      const token = await api.tokenFor(email)
      const reset = { token, password: PASSWORD }
      const stranger = new BrowserSession(api)
      t.equal((await stranger.send('POST', '/v1/auth/password/reset', { json: reset })).status, 204)
      t.equal((await stranger.send('GET', '/v1/auth/session')).status, 401)
      t.match(
        await waiting.verify({ code: code(secret) }),
        { status: 400, ...refusal('invalid_token') },
        'a sign-in with the old password ends',
      )
      const { answer, verify } = await challenged(api, email)
      t.match(answer, { status: 401, ...refusal('mfa_required') })
      t.equal((await verify({ code: code(secret) })).status, 200)
    })

    await t.test('staff can do nothing but add a factor before they have one', async (t) => {
      const { email, userId } = await account(api, 'staff')
      const { browser, answer } = await logIn(api, email)
      t.match(answer, { status: 200, body: { data: { secondFactor: { enrolled: false, proven: false } } } })
      const list = () => browser.send('GET', '/v1/staff/security-events')
      t.match(await list(), {
        status: 403,
        body: { error: { code: 'forbidden', details: { reason: 'second_factor_required' } } },
      })
      const { id, secret } = await enrolTotp(browser, clock.wall())
      const events = dataOf<{ userId: string; action: string }[]>(await list(), 200)
      t.match(events[0], { userId, action: 'second_factor.added' })
      minute()
      const details = (
        (await browser.send('DELETE', `/v1/auth/factors/${id}`)).body as { error: { details: Challenge } }
      ).error.details
      const json = { challengeId: details.challengeId, code: code(secret) }
      t.equal((await browser.send('POST', '/v1/auth/login/verify', { json })).status, 200)
      t.match(await browser.send('DELETE', `/v1/auth/factors/${id}`), { status: 409 }, 'the last one stays')
    })

    await t.test('an organization may require a second factor of its members', async (t) => {
      const owner = await account(api)
      const developer = await api.member('developer')
      const patch = (requireSecondFactor: boolean) =>
        owner.browser.send('PATCH', '/v1/organization', { json: { requireSecondFactor } })
      t.match(await patch(true), {
        status: 409,
        body: { error: { details: { path: 'requireSecondFactor' } } },
      })
      const { secret, id } = await enrolTotp(owner.browser, clock.wall())
      t.match(await patch(true), { status: 200, body: { data: { requireSecondFactor: true } } })
      t.match(await developer.browser.send('GET', '/v1/organization'), {
        status: 403,
        body: { error: { details: { reason: 'second_factor_required' } } },
      })
      t.match(await developer.browser.send('GET', '/v1/auth/session'), {
        body: { data: { organizations: [{ requireSecondFactor: true }], secondFactor: { proven: false } } },
      })
      t.equal((await api.send('GET', whoami.path)).status, 200, 'API keys are not affected')
      await enrolTotp(developer.browser, clock.wall())
      t.equal((await developer.browser.send('GET', '/v1/organization')).status, 200)
      minute()
      const asked = await owner.browser.send('DELETE', `/v1/auth/factors/${id}`)
      const { challengeId } = (asked.body as { error: { details: Challenge } }).error.details
      const json = { challengeId, code: code(secret) }
      t.equal((await owner.browser.send('POST', '/v1/auth/login/verify', { json })).status, 200)
      t.match(await owner.browser.send('DELETE', `/v1/auth/factors/${id}`), { status: 409 }, 'it is required')
      t.equal((await patch(false)).status, 200)
      t.equal((await owner.browser.send('DELETE', `/v1/auth/factors/${id}`)).status, 204)
      t.match(await owner.browser.send('GET', '/v1/auth/session'), {
        body: { data: { secondFactor: { proven: false } } },
      })
    })

    await t.test('ten factors at most', async (t) => {
      const { userId, browser } = await account(api)
      for (let i = 0; i < 10; i++) {
        minute()
        await enrolTotp(browser, clock.wall())
      }
      minute()
      t.match(await browser.send('POST', '/v1/auth/factors', { json: { kind: 'totp' } }), { status: 409 })
      t.equal(
        (await db.selectFrom('secondFactors').where('userId', '=', userId).selectAll().execute()).length,
        10,
      )
    })

    await api.close()
    await database.close()
  })
})

t.test('passkeys need an address at which browsers make them', async (t) => {
  await onEachDialect(t, async (t, openDatabase, _engine) => {
    const database = await openDatabase()
    for (const [url, origin] of [
      ['http://127.0.0.1:8080', 'http://localhost:8080'],
      ['http://[::1]:8080', 'http://localhost:8080'],
      ['https://voice.example:8443', 'https://voice.example:8443'],
      ['http://voice.example', null],
      ['https://192.0.2.7', null],
      ['https://[2001:db8::7]', null],
    ] as const) {
      const api = await openUsersApi({
        database,
        operations: accessOperations,
        deps: { publicUrl: () => url },
        ...(await database.db
          .selectFrom('organizations')
          .select('id')
          .executeTakeFirst()
          .then((found) =>
            found === undefined ? {} : { made: { organizationId: found.id, testKey: '', liveKey: '' } },
          )),
      })
      const { browser } = await api.member('owner')
      t.match(
        await browser.send('GET', '/v1/auth/factors'),
        { body: { data: { passkeyOrigin: origin } } },
        url,
      )
      const begun = await browser.send('POST', '/v1/auth/factors', { json: { kind: 'passkey' } })
      t.match(begun, { status: origin === null ? 422 : 201 }, url)
      await api.close()
    }
    await database.close()
  })
})
