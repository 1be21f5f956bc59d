import { createHmac } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { uploadOperation } from '../api/operation.js'
import type { SignatureScheme } from '../api/signature-scheme.js'
import { constantTimeEqual } from '../base/crypto.js'
import { sweepSignatures } from './signature.js'

const mac = (text: string | Buffer) => createHmac('sha256', 'secret').update(text).digest('hex')

/** A carrier that signs the time, the address and the body. */
const carrier: SignatureScheme = {
  repeats: 'refuse',
  verify({ method, url, header, body }) {
    const time = header('x-carrier-time') ?? ''
    const signature = header('x-carrier-signature') ?? ''
    const expected = mac(`${time} ${method} ${url} ${body}`)
    return constantTimeEqual(signature, expected) ? { key: signature, signedAt: Number(time) } : null
  },
}

/** A payment gateway that signs the body only, and repeats its events. */
const gateway: SignatureScheme = {
  repeats: 'pass',
  verify({ header, body }) {
    const valid = constantTimeEqual(header('x-gateway-signature') ?? '', mac(body))
    return valid ? { key: header('x-gateway-event') ?? '', signedAt: null } : null
  },
}

t.test('requests signed by other services', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const clock = new VirtualClock()
    const received: { text: string; repeated: boolean }[] = []
    let answer: 'take' | 'fail' = 'take'
    const callback = uploadOperation({
      id: 'receiveCallback',
      method: 'post',
      path: '/v1/callbacks/:provider',
      tag: 'Test',
      summary: 'Receive a callback',
      audience: 'signed',
      signature: ({ provider }) =>
        provider === 'gateway' ? gateway : provider === 'carrier' ? carrier : null,
      params: z.object({ provider: z.string() }),
      accepts: ['application/json', 'application/x-www-form-urlencoded'],
      maxBytes: 1024,
      status: 200,
      result: z.object({ received: z.boolean() }),
      fails: [],
      run: async ({ actor, body }) => {
        received.push({ text: String(await buffer(body.content)), repeated: actor.repeated })
        if (answer === 'fail') throw new Error('the database is away')
        return { received: true }
      },
    })
    const api = await openTestApi({ database, operations: [callback], clock })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const toCarrier = (raw: string, { time = clock.wall(), signed = raw, query = '' } = {}) =>
      api.send('POST', '/v1/callbacks/carrier', {
        key: null,
        raw,
        headers: {
          ...form,
          'x-carrier-time': String(time),
          'x-carrier-signature': mac(
            `${time} POST http://parley.test/v1/callbacks/carrier${query} ${signed}`,
          ),
        },
      })
    const toGateway = (raw: string, event: string, signed = raw) =>
      api.send('POST', '/v1/callbacks/gateway', {
        key: null,
        raw,
        headers: { 'x-gateway-signature': mac(signed), 'x-gateway-event': event },
      })
    const invalid = { status: 401, body: { error: { code: 'invalid_signature' } } }

    await t.test('the scheme sees method, address, headers and the raw body', async (t) => {
      t.match(await toCarrier('CallSid=1&To=%2B91'), { status: 200 })
      t.same(received.splice(0), [{ text: 'CallSid=1&To=%2B91', repeated: false }])
      t.match(await toCarrier('a=1', { signed: 'a=2' }), invalid, 'another body')
      t.match(await toCarrier('a=1', { query: '?x=1' }), invalid, 'another address')
      t.same(received, [])
    })

    await t.test('the time of signing', async (t) => {
      t.match(await toCarrier('late', { time: clock.wall() - 300_001 }), invalid)
      t.match(await toCarrier('early', { time: clock.wall() + 300_001 }), invalid)
      t.match(await toCarrier('fair', { time: clock.wall() - 299_999 }), { status: 200 })
      received.length = 0
    })

    await t.test('a repetition is refused, or passed with a mark', async (t) => {
      const time = clock.wall()
      t.match(await toCarrier('once', { time }), { status: 200 })
      t.match(await toCarrier('once', { time }), invalid)
      t.match(await toGateway('{"paid":1}', 'evt_1'), { status: 200 })
      t.match(await toGateway('{"paid":1}', 'evt_1'), { status: 200 })
      t.same(
        received.splice(0).map(({ repeated }) => repeated),
        [false, false, true],
      )
      t.match(await toGateway('{"paid":2}', 'evt_2', '{"paid":1}'), invalid)
    })

    await t.test('a request that failed may be sent again', async (t) => {
      answer = 'fail'
      t.match(await toGateway('{}', 'evt_3'), { status: 500 })
      answer = 'take'
      t.match(await toGateway('{}', 'evt_3'), { status: 200 })
      t.same(
        received.splice(0).map(({ repeated }) => repeated),
        [false, false],
      )
    })

    await t.test('memory ends: ten minutes with a time, seven days without', async (t) => {
      clock.advance(600_001)
      t.ok((await sweepSignatures(database.db, clock.wall())) > 0)
      t.match(await toGateway('{"paid":1}', 'evt_1'), { status: 200 })
      t.same(received.splice(0), [{ text: '{"paid":1}', repeated: true }])
      clock.advance(7 * 86_400_000)
      await sweepSignatures(database.db, clock.wall())
      t.match(await database.db.selectFrom('usedSignatures').selectAll().execute(), [])
    })

    await t.test('an unknown sender, a wrong type, too many bytes', async (t) => {
      t.match(await api.send('POST', '/v1/callbacks/nobody', { key: null, raw: '{}' }), { status: 404 })
      const raw = 'x'.repeat(1025)
      t.match(await toGateway(raw, 'evt_4'), { status: 400 })
      const png = { 'x-gateway-signature': mac('x'), 'x-gateway-event': 'evt_5', 'content-type': 'image/png' }
      t.match(await api.send('POST', '/v1/callbacks/gateway', { key: null, raw: 'x', headers: png }), {
        status: 400,
      })
      t.same(received, [])
    })
    await api.close()
  })
})
