import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { cheapPasswords } from '../../fixtures/api/cheap-passwords.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { setReadOnly } from '../../fixtures/database/sqlite-faults.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { settle } from '../../fixtures/host/settle.js'
import { until } from '../../fixtures/host/until.js'
import { bootstrap } from '../access/accounts/bootstrap.js'
import { operation } from '../api/operation.js'
import { type ErrorCode, PROBLEMS, refuse } from '../api/problem.js'
import { rootKeyOf } from '../base/root-key.js'
import {
  fingerprint,
  fingerprintInTurns,
  type IdempotentRequest,
  isFinalStatus,
  isIdempotencyKey,
  LOCK_MS,
  openIdempotency,
  RETENTION_MS,
} from './idempotency.js'

t.test('outcomes that are kept', async (t) => {
  for (const status of [200, 201, 202, 204, 402, 403, 404, 409, 422])
    t.equal(isFinalStatus(status), true, `${status}`)
  for (const status of [400, 401, 405, 429, 500, 503]) t.equal(isFinalStatus(status), false, `${status}`)
})

t.test('keys and fingerprints', async (t) => {
  for (const key of ['a', 'a b', '~'.repeat(255)]) t.equal(isIdempotencyKey(key), true)
  for (const key of ['', 'ä', 'a\tb', 'a'.repeat(256)]) t.equal(isIdempotencyKey(key), false)
  t.equal(fingerprint({ b: 1, a: [1.0, 'x'] }), fingerprint({ a: [1, 'x'], b: 1 }))
  t.not(fingerprint({ a: [1, 2] }), fingerprint({ a: [2, 1] }))
  // SHA-256 of `{"a":1,"b":2}`.
  t.equal(fingerprint({ b: 2, a: 1 }), '43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777')
})

t.test('the fingerprint of a long body', async (t) => {
  const rows = Array.from({ length: 3_000 }, (_, i) => ({
    é: 'ü'.repeat(80),
    b: [i, { d: 1, c: null }],
    a: {},
  }))
  const bodies = [
    ...[
      null,
      'text',
      5,
      true,
      [],
      {},
      [1, 'x', null],
      { b: 1, a: [], '\ud83d\ude00': {}, '\ufb33': 2, é: 'ü' },
    ],
    ...[{ rows, a: 1 }, rows, { z: { y: { x: rows } } }],
  ]
  for (const body of bodies) t.equal(await fingerprintInTurns(body), fingerprint(body))
  let over = false
  let turns = 0
  const made = fingerprintInTurns({ rows }).finally(() => {
    over = true
  })
  for (; !over; turns++) await settle()
  await made
  t.ok(turns > 2, 'other work of the thread runs meanwhile')
})

t.test('the store', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const rootKey = rootKeyOf(Buffer.alloc(32, 1))
    const made = await bootstrap({ db, rootKey, clock, passwords: cheapPasswords })
    const store = openIdempotency(db, rootKey, clock)
    const request = (key: string, body = 'body'): IdempotentRequest => ({
      organizationId: made?.organizationId ?? '',
      environment: 'test',
      method: 'post',
      path: '/v1/calls',
      key,
      fingerprint: fingerprint(body),
    })
    const claimRun = async (key: string, body?: string) => {
      const claim = await store.claim(request(key, body))
      if (!('kind' in claim) || claim.kind !== 'run') throw new Error(`not run: ${JSON.stringify(claim)}`)
      return claim
    }

    await t.test('of many concurrent requests exactly one runs', async (t) => {
      const claims = await Promise.all(Array.from({ length: 20 }, () => store.claim(request('race'))))
      t.equal(claims.filter((claim) => 'kind' in claim && claim.kind === 'run').length, 1)
      t.equal(claims.filter((claim) => 'code' in claim && claim.code === 'idempotency_key_in_use').length, 19)
    })

    await t.test('a finished one is replayed, and stored encrypted', async (t) => {
      const claim = await claimRun('done')
      await store.finish(claim, { status: 201, body: '{"data":"पासवर्ड"}' })
      t.same(await store.claim(request('done')), {
        kind: 'replay',
        response: { status: 201, body: '{"data":"पासवर्ड"}' },
        fingerprint: fingerprint('body'),
      })
      t.match(await store.claim(request('done', 'other')), {
        code: 'idempotency_key_reused_with_different_params',
        status: 422,
      })
      const row = await db
        .selectFrom('idempotencyKeys')
        .selectAll()
        .where('id', '=', claim.id)
        .executeTakeFirstOrThrow()
      t.notMatch(Buffer.from(row.response ?? '', 'base64').toString('utf8'), /पासवर्ड/)
    })

    await t.test('another path, environment or organization is another key', async (t) => {
      await claimRun('scoped')
      t.match(await store.claim({ ...request('scoped'), path: '/v1/calls/1/transfer' }), { kind: 'run' })
      t.match(await store.claim({ ...request('scoped'), environment: 'live' }), { kind: 'run' })
      t.match(await store.claim(request('scoped')), {
        code: 'idempotency_key_in_use',
        headers: { 'retry-after': '1' },
      })
    })

    await t.test('a freed key continues under its id for the same body only', async (t) => {
      const first = await claimRun('freed')
      await store.release(first)
      const second = await claimRun('freed')
      t.equal(second.id, first.id)
      await store.release(second)
      t.match(await store.claim(request('freed', 'changed')), {
        code: 'idempotency_key_reused_with_different_params',
      })
      t.equal((await claimRun('freed')).id, first.id)
    })

    await t.test(
      'an abandoned lock is taken over after its lease, and its late owner is ignored',
      async (t) => {
        const crashed = await claimRun('crash')
        clock.advance(LOCK_MS - 1)
        t.match(await store.claim(request('crash')), { code: 'idempotency_key_in_use' })
        clock.advance(1)
        const claims = await Promise.all(Array.from({ length: 5 }, () => store.claim(request('crash'))))
        const ran = claims.filter((claim) => 'kind' in claim && claim.kind === 'run')
        t.equal(ran.length, 1)
        t.match(ran[0], { id: crashed.id })
        await store.finish(crashed, { status: 201, body: '"late"' })
        t.match(await store.claim(request('crash')), { code: 'idempotency_key_in_use' })
      },
    )

    await t.test('after a day it is deleted', async (t) => {
      await store.finish(await claimRun('old'), { status: 201, body: '1' })
      clock.advance(RETENTION_MS - 1)
      t.match(await store.claim(request('old', 'other')), {
        code: 'idempotency_key_reused_with_different_params',
      })
      clock.advance(1)
      await store.release(await claimRun('old', 'other'))
      clock.advance(RETENTION_MS + LOCK_MS)
      t.match(await store.claim(request('old')), { kind: 'run' }, 'the same key is a new request')
    })
  })
})

t.test('over HTTP', async (t) => {
  await onEachDialect(t, async (t, open, dialect) => {
    let runs: (string | null)[] = []
    let fail: ErrorCode | 'throw' | null = null
    let hold: Promise<void> | null = null
    const place = operation({
      id: 'place',
      method: 'post',
      path: '/v1/calls',
      tag: 'Calls',
      summary: 'Places a call',
      audience: 'key',
      scope: 'write',
      body: z.strictObject({ to: z.string(), note: z.string().default('none') }),
      status: 201,
      result: z.object({ run: z.int() }),
      idempotent: 'accepted',
      fails: ['blocked_dnd', 'provider_unavailable', 'concurrent_call_limit_reached'],
      run: async ({ idempotencyId }) => {
        runs.push(idempotencyId)
        if (hold !== null) await hold
        if (fail === 'throw') throw new Error('broken')
        if (fail !== null) return refuse(fail, 'no')
        return { run: runs.length }
      },
    })
    const api = await openTestApi({ database: await open(), operations: [place] })
    const call = (key: string | null, json: unknown) =>
      api.send('POST', '/v1/calls', { json, headers: key === null ? {} : { 'idempotency-key': key } })
    const fresh = (): void => {
      runs = []
      fail = null
    }

    await t.test('the first answer is repeated byte for byte', async (t) => {
      fresh()
      const first = await call('k1', { to: 'a' })
      const again = await call('k1', { to: 'a' })
      t.equal(first.status, 201)
      t.equal(first.headers.get('idempotency-replayed'), null)
      t.equal(again.headers.get('idempotency-replayed'), 'true')
      t.equal(again.status, 201)
      t.same(again.body, first.body)
      t.not(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
      t.equal(runs.length, 1)
      const other = await call('k1', { to: 'b' })
      t.match(other, {
        status: 422,
        body: { error: { code: 'idempotency_key_reused_with_different_params', type: 'conflict' } },
      })
      t.equal((await call('k1', { to: 5 })).status, 400, 'validation comes first')
      t.equal(
        (
          await api.send('POST', '/v1/calls', {
            key: api.liveKey,
            json: { to: 'a' },
            headers: { 'idempotency-key': 'k1' },
          })
        ).status,
        201,
      )
      t.equal(runs.length, 2, 'the live environment has keys of its own')
    })

    await t.test('two concurrent requests: one runs, one has to wait', async (t) => {
      fresh()
      let release = (): void => {}
      hold = new Promise((resolve) => {
        release = resolve
      })
      const first = call('k2', { to: 'a' })
      await until(() => runs.length > 0)
      const second = await call('k2', { to: 'a' })
      t.match(second, { status: 409, body: { error: { code: 'idempotency_key_in_use' } } })
      t.equal(second.headers.get('retry-after'), '1')
      release()
      hold = null
      t.equal((await first).status, 201)
      t.equal((await call('k2', { to: 'a' })).headers.get('idempotency-replayed'), 'true')
      t.equal(runs.length, 1)
    })

    await t.test('what was done is told also when the answer cannot be stored', async (t) => {
      if (dialect !== 'sqlite') return
      fresh()
      let release = (): void => {}
      hold = new Promise((resolve) => {
        release = resolve
      })
      const first = call('k-unstored', { to: 'a' })
      await until(() => runs.length > 0)
      await setReadOnly(api.deps.db, true)
      release()
      hold = null
      t.equal((await first).status, 201)
      await setReadOnly(api.deps.db, false)
      t.equal((await call('k-unstored', { to: 'a' })).status, 409, 'the key stays locked')
      t.equal(runs.length, 1)
    })

    await t.test('final rejections are kept, temporary ones free the key', async (t) => {
      const codes: ErrorCode[] = ['blocked_dnd', 'provider_unavailable', 'concurrent_call_limit_reached']
      for (const code of codes) {
        fresh()
        fail = code
        const { status } = PROBLEMS[code]
        t.equal((await call(`k3-${code}`, { to: 'a' })).status, status)
        fail = null
        const retry = await call(`k3-${code}`, { to: 'a' })
        if (code === 'blocked_dnd') {
          t.equal(retry.status, 403)
          t.equal(runs.length, 1)
        } else {
          t.equal(retry.status, 201)
          t.equal(runs.length, 2)
          t.equal(runs[0], runs[1], 'the same operation goes on')
        }
      }
    })

    await t.test('a crash in the handler frees the key', async (t) => {
      fresh()
      fail = 'throw'
      t.equal((await call('k4', { to: 'a' })).status, 500)
      fail = null
      t.match(
        await call('k4', { to: 'b' }),
        { status: 422, body: { error: { code: 'idempotency_key_reused_with_different_params' } } },
        'the failed request may have had an effect, so that another body is not a retry',
      )
      t.equal(runs.length, 1)
      t.equal((await call('k4', { to: 'a' })).status, 201)
    })

    await t.test('without a key nothing is stored; a malformed key is an issue of its header', async (t) => {
      fresh()
      await call(null, { to: 'a' })
      await call(null, { to: 'a' })
      t.same(runs, [null, null])
      const answer = await call('a'.repeat(256), { to: 5 })
      t.match(answer, {
        status: 400,
        body: { error: { details: { issues: [{ path: 'to' }, { path: 'header.idempotency-key' }] } } },
      })
    })

    await api.close()
  })
})
