import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { uploadOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { writeAddressToken } from '../base/signed-address.js'
import type { OpenDatabase } from '../db/database.js'
import { LOCK_MS } from './idempotency.js'

const OTHER = { status: 422, body: { error: { code: 'idempotency_key_reused_with_different_params' } } }
const IN_USE = { status: 409, body: { error: { code: 'idempotency_key_in_use' } } }
const WAIT_MS = 20_000
const CSV = { 'content-type': 'text/csv' }

/** Two operations that keep the bytes they get, one for keys and one at a signed address. */
async function openFiles(database: OpenDatabase) {
  const clock = new VirtualClock()
  const seen = {
    stored: [] as string[],
    ids: [] as (string | null)[],
    /** The part of the latest body that has arrived. */
    read: '',
    /** Called when the body has been read, before it is stored. */
    before: (async () => {}) as () => Promise<void>,
    refused: false,
  }
  const common = {
    tag: 'Test',
    summary: 'Upload a file',
    accepts: ['text/csv'],
    maxBytes: 1024 * 1024,
    status: 201,
    result: z.object({ files: z.int() }),
    fails: ['conflict'],
  } as const
  const store = async (content: AsyncIterable<Uint8Array>, id: string | null) => {
    seen.ids.push(id)
    if (seen.refused) return refuse('conflict', 'No file is expected.')
    let file = ''
    for await (const chunk of content) {
      file += Buffer.from(chunk).toString('utf8')
      seen.read = file
    }
    await seen.before()
    seen.stored.push(file)
    return { files: seen.stored.length }
  }
  const post = uploadOperation({
    ...common,
    id: 'postFile',
    method: 'post',
    path: '/v1/files',
    audience: 'key',
    scope: 'write',
    run: ({ body, idempotencyId }) => store(body.content, idempotencyId),
  })
  const put = uploadOperation({
    ...common,
    id: 'putFile',
    method: 'put',
    path: '/v1/files/:token',
    audience: 'address',
    address: 'upload',
    params: z.object({ token: z.string().max(512) }),
    run: ({ body, idempotencyId }) => store(body.content, idempotencyId),
  })
  const api = await openTestApi({ database, clock, operations: [post, put] })
  const send = (key: string, raw: string) =>
    api.send('POST', '/v1/files', { raw, headers: { ...CSV, 'idempotency-key': key } })
  /** Begins an upload that the caller writes by hand. */
  const begin = (key: string) => {
    const headers = { ...CSV, authorization: `Bearer ${api.testKey}`, 'idempotency-key': key }
    const { port } = api.server
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/v1/files', headers })
    request.on('error', () => {})
    return request
  }
  const fresh = () =>
    Object.assign(seen, { stored: [], ids: [], read: '', before: async () => {}, refused: false })
  return { api, clock, database, seen, send, begin, fresh }
}

t.test('uploads with an idempotency key', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const files = await openFiles(await open())
    const { api, seen, send, fresh } = files

    await t.test('the same bytes get the same answer, other bytes none', async (t) => {
      fresh()
      const first = await send('k1', 'one')
      t.match(first, { status: 201, body: { data: { files: 1 } } })
      t.equal(first.headers.get('idempotency-replayed'), null)
      const again = await send('k1', 'one')
      t.equal(again.headers.get('idempotency-replayed'), 'true')
      t.same([again.status, again.body], [first.status, first.body])
      t.match(await send('k1', 'two'), OTHER)
      t.match(
        await send('k1', 'x'.repeat(1024 * 1024 + 1)),
        { status: 400 },
        'the limit holds for repetitions',
      )
      t.equal((await send('k1', 'one')).headers.get('idempotency-replayed'), 'true')
      t.same(seen.stored, ['one'])
      t.match(await send('k2', 'one'), { status: 201, body: { data: { files: 2 } } })
    })

    await t.test('while the first request runs, the second has to wait', async (t) => {
      fresh()
      const request = files.begin('k3')
      request.write('on')
      await until(() => seen.ids.length === 1)
      t.match(await send('k3', 'one'), IN_USE)
      const answered = once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
      request.end('e')
      const [response] = await answered
      t.equal(response.statusCode, 201)
      response.resume()
      t.equal((await send('k3', 'one')).headers.get('idempotency-replayed'), 'true')
      t.same(seen.stored, ['one'])
    })

    await t.test('a body that breaks off stores nothing, and any body may follow', async (t) => {
      fresh()
      const request = files.begin('k4')
      request.write('a part')
      await until(() => seen.ids.length === 1)
      request.destroy()
      const state = () =>
        files.database.db
          .selectFrom('idempotencyKeys')
          .select('state')
          .where('key', '=', 'k4')
          .executeTakeFirst()
      await until(async () => (await state())?.state === 'free')
      t.match(await send('k4', 'the whole'), { status: 201 })
      t.same(seen.stored, ['the whole'])
      t.equal(seen.ids[0], seen.ids[1], 'the same request goes on')
    })

    await t.test('a failure after the whole body: the same bytes go on, others are not stored', async (t) => {
      fresh()
      seen.before = async () => {
        throw new Error('the disk is away')
      }
      t.equal((await send('k5', 'one')).status, 500)
      seen.before = async () => {}
      t.match(await send('k5', 'two'), OTHER)
      t.same(seen.stored, [])
      t.match(await send('k5', 'one'), { status: 201 })
      t.same(seen.stored, ['one'])
      t.equal(new Set(seen.ids).size, 1)
    })

    await t.test('a refusal that needs no body is kept, with the body it was given for', async (t) => {
      fresh()
      seen.refused = true
      t.match(await send('k6', 'one'), { status: 409, body: { error: { code: 'conflict' } } })
      seen.refused = false
      t.equal((await send('k6', 'one')).headers.get('idempotency-replayed'), 'true')
      t.match(await send('k6', 'two'), OTHER)
      t.equal(seen.ids.length, 1)
    })

    await t.test('the lock lasts as long as the upload; one who lost it stores nothing', async (t) => {
      fresh()
      const slow = files.begin('k7')
      /** The client sends a little from time to time, so that the body is not given up. */
      const advance = async () => {
        for (let step = 0; step < 3; step++) {
          const before = seen.read
          slow.write('o')
          await until(() => seen.read !== before)
          files.clock.advance(LOCK_MS / 9)
        }
      }
      slow.flushHeaders()
      await until(() => seen.ids.length === 1)
      const row = () =>
        files.database.db
          .selectFrom('idempotencyKeys')
          .select(['lockedUntil', 'id'])
          .where('key', '=', 'k7')
          .executeTakeFirstOrThrow()
      const { lockedUntil, id } = await row()
      await advance()
      await until(async () => (await row()).lockedUntil > lockedUntil)
      await files.database.db
        .updateTable('idempotencyKeys')
        .set({ lock: 'taken' })
        .where('id', '=', id)
        .execute()
      const answered = once(slow, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
      await advance()
      const [response] = await answered
      t.equal(response.statusCode, 409)
      t.match(await text(response), /idempotency_key_in_use/)
      slow.destroy()
      t.same(seen.stored, [])
    })

    await t.test(
      'at a signed address: for its organization, and without its token in the table',
      async (t) => {
        fresh()
        const { rootKey, clock } = api.deps
        const grant = { subject: 'upl_1', expiresAt: clock.wall() + 60_000 }
        const address = (organization: { organizationId?: string }) =>
          writeAddressToken(rootKey, 'upload', { ...grant, ...organization })
        const token = address({ organizationId: api.organizationId })
        const put = (raw: string, path = token) =>
          api.send('PUT', `/v1/files/${path}`, {
            key: null,
            raw,
            headers: { ...CSV, 'idempotency-key': 'k8' },
          })
        const first = await put('one')
        const again = await put('one')
        t.same([again.status, again.body], [first.status, first.body])
        t.equal(again.headers.get('idempotency-replayed'), 'true')
        t.match(await put('two'), OTHER)
        t.same(seen.stored, ['one'])
        const rows = await files.database.db
          .selectFrom('idempotencyKeys')
          .select('path')
          .where('key', '=', 'k8')
          .execute()
        t.same(rows, [{ path: '/v1/files/:token upl_1' }])
        t.equal((await put('one', address({}))).headers.get('idempotency-replayed'), null)
      },
    )

    await api.close()
  })
})
