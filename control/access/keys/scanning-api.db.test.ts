import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../../fixtures/api/api.js'
import { openUsersApi } from '../../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { operation } from '../../api/operation.js'
import { refuse } from '../../api/problem.js'
import { readSettings } from '../../config/settings.js'
import { accessOperations } from '../api.js'
import { ownScheme, signatureOf, sweepSignatures } from '../signature.js'
import { createKey } from './api-keys.js'

const SECRET = 'shared with the scanning programme'
const PATH = '/v1/secret-scanning/reports'
const settings = readSettings({ PARLEY_SECRET_SCANNING_SECRET: SECRET }, '/nowhere')
const invalid = { status: 401, body: { error: { code: 'invalid_signature', type: 'authentication' } } }

t.test('the signature is computed like that of webhooks', async (t) => {
  t.equal(
    signatureOf('whsec_test', '1700000000', Buffer.from('{}')),
    '35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91',
  )
})

t.test('reports of leaked keys', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations, deps: { settings } })
    const sign = (raw: string, change: { secret?: string; ageMs?: number } = {}) => {
      const timestamp = String(Math.floor((api.clock.wall() - (change.ageMs ?? 0)) / 1000))
      const signature = signatureOf(change.secret ?? SECRET, timestamp, Buffer.from(raw))
      return { 'x-svc-timestamp': timestamp, 'x-svc-signature': `v1=${signature}` }
    }
    const send = (raw: string, headers: Record<string, string>) =>
      api.send('POST', PATH, { key: null, raw, headers })
    const report = (...tokens: string[]) =>
      JSON.stringify({ reports: tokens.map((token) => ({ token, url: 'https://git.example/leak' })) })
    const newKey = async (environment: 'test' | 'live') => {
      const { userId } = await api.member('owner')
      return createKey(database.db, api.deps.rootKey, api.clock, {
        organizationId: api.organizationId,
        createdBy: userId,
        environment,
        name: `Leaky ${environment}`,
        scopes: ['admin'],
        expiresAt: null,
      })
    }

    await t.test('test and live keys are revoked, and owners and admins notified', async (t) => {
      const admin = await api.member('admin')
      const developer = await api.member('developer')
      const [test, live] = [await newKey('test'), await newKey('live')]
      const unknown = `${test.key.slice(0, -1)}${test.key.endsWith('x') ? 'y' : 'x'}`
      const raw = report(live.key, test.key, live.key, unknown, 'AKIA000')
      const outcomes = ['revoked', 'revoked', 'already_revoked', 'unknown', 'unknown']
      t.match(await send(raw, sign(raw)), {
        status: 200,
        body: { data: { results: outcomes.map((outcome, index) => ({ index, outcome })) } },
      })
      for (const { key } of [test, live]) {
        t.match(await api.send('GET', '/v1/whoami', { key }), {
          status: 401,
          body: { error: { code: 'invalid_credentials' } },
        })
      }
      const mail = await api.latestMailTo(admin.email)
      t.match(mail.text, /"Leaky (live|test)".*https:\/\/git\.example\/leak/)
      t.equal(api.mails.filter(({ to }) => to === admin.email).length, 2, 'one for each key')
      t.same(
        api.mails.filter(({ to }) => to === developer.email),
        [],
      )
      t.notMatch(JSON.stringify(api.mails), live.key, 'the mail does not spread the key')
      const stored = await database.db.selectFrom('mails').selectAll().execute()
      t.notMatch(JSON.stringify(stored), live.key)
    })

    await t.test('rejected reports', async (t) => {
      const raw = report('x')
      const right = sign(raw)
      const [, hex = ''] = right['x-svc-signature'].split('=')
      const table: readonly [what: string, raw: string, headers: Record<string, string>][] = [
        ['no headers', raw, {}],
        ['no timestamp', raw, { 'x-svc-signature': right['x-svc-signature'] }],
        ['no signature', raw, { 'x-svc-timestamp': right['x-svc-timestamp'] }],
        ['another secret', raw, sign(raw, { secret: 'not the shared one, but as long' })],
        ['another body', `${raw} `, right],
        ['another time', raw, { ...right, 'x-svc-timestamp': String(Number(right['x-svc-timestamp']) + 1) }],
        ['another version', raw, { ...right, 'x-svc-signature': `v2=${hex}` }],
        ['no version', raw, { ...right, 'x-svc-signature': hex }],
        ['upper case', raw, { ...right, 'x-svc-signature': `v1=${hex.toUpperCase()}` }],
        ['too old', raw, sign(raw, { ageMs: 301_000 })],
        ['from the future', raw, sign(raw, { ageMs: -301_000 })],
        ['a time that is none', raw, { ...right, 'x-svc-timestamp': '1e9' }],
      ]
      for (const [what, body, headers] of table) t.match(await send(body, headers), invalid, what)
      t.match(await api.send('POST', PATH, { raw }), invalid, 'a key is no signature')
      for (const ageMs of [299_000, -299_000]) {
        t.equal((await send(raw, sign(raw, { ageMs }))).status, 200, `${ageMs} ms off`)
      }
      t.equal(
        (await send(raw, { ...right, 'x-svc-signature': `v1=00 ${right['x-svc-signature']}` })).status,
        200,
        'one of several',
      )
    })

    await t.test('each signature is accepted once, and only used up by a successful request', async (t) => {
      api.clock.advance(1000)
      const raw = report('y')
      const headers = sign(raw)
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(raw, headers)))
      t.same(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401])
      t.match(await send(raw, headers), invalid)
      t.match(
        await send(raw, { ...headers, 'x-svc-signature': `v1=00 ${headers['x-svc-signature']}` }),
        invalid,
        'dressed up',
      )

      const broken = '{"reports":[{"token":"x","surprise":1}]}'
      const signed = sign(broken)
      const refused = { status: 400, body: { error: { code: 'validation_error' } } }
      t.match(await send(broken, signed), refused)
      t.match(await send(broken, signed), refused, 'a refused request may be repeated')
      const garbled = 'not json'
      t.match(await send(garbled, sign(garbled)), { status: 400, body: { error: { code: 'bad_request' } } })
      t.match(await send('', sign('')), { status: 400 })

      api.clock.advance(300_000)
      t.equal(
        await sweepSignatures(database.db, api.clock.wall()),
        0,
        'remembered while it would be believed',
      )
      t.match(await send(raw, headers), invalid)
      api.clock.advance(301_000)
      t.ok((await sweepSignatures(database.db, api.clock.wall())) > 0)
      t.match(await send(raw, headers), invalid, 'too old now')
    })
    await api.close()

    await t.test('a failed or rejected request may be sent again', async (t) => {
      const outcomes = ['throw', 'refuse', 'take'] as const
      let turn = 0
      const flaky = operation({
        id: 'flaky',
        method: 'post',
        path: '/v1/flaky',
        tag: 'Test',
        summary: 'Fails, refuses, then takes it',
        audience: 'signed',
        signature: ownScheme(() => SECRET),
        status: 200,
        result: z.object({ turn: z.int() }),
        fails: ['conflict'],
        run: () => {
          const outcome = outcomes[turn++]
          if (outcome === 'throw') throw new Error('the database is away')
          return outcome === 'refuse' ? refuse('conflict', 'Not now.') : { turn }
        },
      })
      const retried = await openTestApi({ database: await open(), operations: [flaky], deps: { settings } })
      const timestamp = String(Math.floor(Date.now() / 1000))
      const headers = {
        'x-svc-timestamp': timestamp,
        'x-svc-signature': `v1=${signatureOf(SECRET, timestamp, Buffer.from('{}'))}`,
      }
      const statuses: number[] = []
      for (let i = 0; i < 4; i++) {
        statuses.push((await retried.send('POST', '/v1/flaky', { key: null, raw: '{}', headers })).status)
      }
      t.same(statuses, [500, 409, 200, 401])
      await retried.close()
    })

    await t.test('without a secret nothing is accepted', async (t) => {
      const closed = await openTestApi({ database: await open(), operations: accessOperations })
      const raw = report('x')
      const timestamp = String(Math.floor(Date.now() / 1000))
      for (const secret of ['', SECRET, 'null']) {
        const headers = {
          'x-svc-timestamp': timestamp,
          'x-svc-signature': `v1=${signatureOf(secret, timestamp, Buffer.from(raw))}`,
        }
        t.match(await closed.send('POST', PATH, { key: null, raw, headers }), invalid)
      }
      await closed.close()
    })
  })
})
