import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import type { Upload } from '../api/content.js'
import { uploadOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { writeAddressToken } from '../base/signed-address.js'
import type { OpenDatabase } from '../db/database.js'

const MAX_BYTES = 20 * 1024 * 1024
const WAIT_MS = 20_000

const Received = z.object({
  subject: z.string(),
  contentType: z.string(),
  stated: z.int().nullable(),
  bytes: z.int(),
  sha256: z.string(),
})

/** Called for each upload before the operation reads it. */
type Handler = (upload: Upload) => Promise<void>

/** An API with one upload operation, at a signed address. */
async function openUploads(database: OpenDatabase, clock: Clock = systemClock) {
  const seen = { runs: 0, mostHeld: 0, handler: (async () => {}) as Handler }
  const put = uploadOperation({
    id: 'uploadFile',
    method: 'put',
    path: '/v1/files/:token',
    tag: 'Test',
    summary: 'Upload a file',
    audience: 'address',
    address: 'upload',
    params: z.object({ token: z.string().max(512) }),
    accepts: ['application/pdf', 'text/csv'],
    maxBytes: MAX_BYTES,
    status: 200,
    result: Received,
    fails: ['conflict'],
    run: async ({ actor, body }) => {
      seen.runs++
      await seen.handler(body)
      if (body.contentType === 'text/csv') return refuse('conflict', 'No file is expected.')
      const hash = createHash('sha256')
      let bytes = 0
      for await (const chunk of body.content) {
        seen.mostHeld = Math.max(seen.mostHeld, body.content.readableLength)
        hash.update(chunk)
        bytes += chunk.length
      }
      const sha256 = hash.digest('hex')
      return { subject: actor.subject, contentType: body.contentType, stated: body.bytes, bytes, sha256 }
    },
  })
  const api = await openTestApi({ database, clock, operations: [put] })
  const token = (ms = 60_000) =>
    writeAddressToken(api.deps.rootKey, 'upload', { subject: 'doc_1', expiresAt: api.deps.clock.wall() + ms })
  const send = (raw: string | Uint8Array, headers: Record<string, string>, path = token()) =>
    api.send('PUT', `/v1/files/${path}`, { key: null, raw, headers })
  return { api, seen, token, send }
}

type Uploads = Awaited<ReturnType<typeof openUploads>>

/** Opens a chunked upload that the test writes by hand. */
function chunked(t: Test, { api, token }: Uploads) {
  const request = httpRequest({
    host: '127.0.0.1',
    port: api.server.port,
    method: 'PUT',
    path: `/v1/files/${token()}`,
    headers: { 'content-type': 'application/pdf' },
  })
  t.teardown(() => request.destroy())
  return request
}

const PDF = { 'content-type': 'Application/PDF; version=1.7' }

t.test('uploads', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const uploads = await openUploads(await open())
    const { seen } = uploads
    const setUp = (handler: Handler = async () => {}) =>
      Object.assign(seen, { runs: 0, mostHeld: 0, handler })

    await t.test('the bytes arrive as they were sent, a part at a time', async (t) => {
      setUp()
      const file = Buffer.alloc(MAX_BYTES, 'parley')
      const sha256 = createHash('sha256').update(file).digest('hex')
      t.match(await uploads.send(file, PDF), {
        status: 200,
        body: {
          data: {
            subject: 'doc_1',
            contentType: 'application/pdf',
            stated: MAX_BYTES,
            bytes: MAX_BYTES,
            sha256,
          },
        },
      })
      t.ok(seen.mostHeld <= 1024 * 1024, `at most ${seen.mostHeld} bytes wait for the handler`)
    })

    await t.test('a body that states too many bytes is refused before the handler runs', async (t) => {
      setUp()
      t.match(await uploads.send(Buffer.alloc(MAX_BYTES + 1), PDF), {
        status: 413,
        body: {
          error: { code: 'document_too_large', details: { bytes: MAX_BYTES + 1, maxBytes: MAX_BYTES } },
        },
      })
      t.equal(seen.runs, 0)
    })

    await t.test('a body that grows too large ends the handler', async (t) => {
      const failures: unknown[] = []
      const wrapping: Handler = async ({ content }) => {
        try {
          for await (const _chunk of content);
        } catch (error) {
          failures.push(error)
          throw new Error('the store failed', { cause: error })
        }
      }
      for (const handler of [undefined, wrapping]) {
        setUp(handler)
        const request = chunked(t, uploads)
        request.on('error', () => {})
        const answered = once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
        for (let i = 0; i < 21; i++) request.write(Buffer.alloc(1024 * 1024))
        const [response] = await answered
        t.equal(response.statusCode, 413)
        response.resume()
        request.destroy()
        t.equal(seen.runs, 1)
      }
      t.match(failures, [{ name: 'RefusedBody' }])
    })

    await t.test('wrong types, forms, compressed and empty bodies', async (t) => {
      setUp()
      const refusals: [headers: Record<string, string>, message: RegExp][] = [
        [{ 'content-type': 'image/png' }, /application\/pdf, text\/csv/],
        [{ 'content-type': '' }, /application\/pdf/],
        [{ 'content-type': 'multipart/form-data; boundary=x' }, /the bytes of the file as the body/],
        [{ ...PDF, 'content-encoding': 'gzip' }, /Content-Encoding/],
      ]
      for (const [headers, message] of refusals) {
        t.match(await uploads.send('x', headers), {
          status: 400,
          body: {
            error: {
              code: 'bad_request',
              message,
              details: { accepted: ['application/pdf', 'text/csv'] },
            },
          },
        })
      }
      t.match(await uploads.send('', PDF), { status: 400, body: { error: { code: 'bad_request' } } })
      t.equal(seen.runs, 0)
    })

    await t.test('an address that is forged, expired or made for something else', async (t) => {
      setUp()
      const { rootKey, clock } = uploads.api.deps
      const grant = { subject: 'doc_1', expiresAt: clock.wall() + 60_000 }
      const wrong = ['x', uploads.token(-1), writeAddressToken(rootKey, 'recording', grant)]
      for (const path of wrong) {
        t.match(await uploads.send('x', PDF, path), { status: 404, body: { error: { code: 'not_found' } } })
      }
      t.equal(seen.runs, 0)
    })

    await t.test('a client that goes away ends the handler', async (t) => {
      let fail = (_error: unknown): void => {}
      const failed = new Promise((resolve) => {
        fail = resolve
      })
      setUp(async ({ content }) => {
        try {
          for await (const _chunk of content);
        } catch (error) {
          fail(error)
          throw error
        }
      })
      const request = chunked(t, uploads)
      request.on('error', () => {})
      request.write('a part')
      await until(() => seen.runs > 0)
      request.destroy()
      t.match(await failed, { name: 'RefusedBody', message: /incomplete/ })
    })

    await t.test('a handler that does not read the body leaves the connection usable', async (t) => {
      setUp()
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.teardown(() => agent.destroy())
      const ports = new Set<unknown>()
      for (let i = 0; i < 3; i++) {
        const request = httpRequest({
          host: '127.0.0.1',
          port: uploads.api.server.port,
          method: 'PUT',
          path: `/v1/files/${uploads.token()}`,
          headers: { 'content-type': 'text/csv' },
          agent,
        })
        request.end(Buffer.alloc(2 * 1024 * 1024))
        const [response] = await once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
        t.equal(response.statusCode, 409)
        ports.add(request.socket?.localPort)
        response.resume()
        await once(response, 'end')
        if (!request.writableFinished) await once(request, 'finish')
      }
      t.equal(ports.size, 1)
      agent.destroy()
    })
    await uploads.api.close()
  })
})

t.test('the time of a body', async (t) => {
  const database = await openMigratedSqlite()
  t.teardown(() => database.close())
  const clock = new VirtualClock()
  const uploads = await openUploads(database, clock)
  t.teardown(() => uploads.api.close())
  const { seen } = uploads

  await t.test('a handler may be slow', async (t) => {
    let goOn = (): void => {}
    const waits = new Promise<void>((resolve) => {
      goOn = resolve
    })
    Object.assign(seen, { runs: 0, handler: () => waits })
    const file = Buffer.alloc(4 * 1024 * 1024, 'parley')
    const answer = uploads.send(file, PDF, uploads.token(7_200_000))
    await until(() => seen.runs > 0)
    for (let minute = 0; minute < 10; minute++) await clock.advanceAsync(60_000, 10_000)
    goOn()
    t.match(await answer, { status: 200, body: { data: { bytes: file.length } } })
  })

  await t.test('a client that stops is answered 408', async (t) => {
    let read = 0
    const count: Handler = async ({ content }) => {
      content.on('data', (chunk: Buffer) => {
        read += chunk.length
      })
      await once(content, 'close')
    }
    Object.assign(seen, { runs: 0, handler: count })
    const request = chunked(t, uploads)
    const answered = once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
    for (let part = 1; part <= 3; part++) {
      request.write('a part')
      await until(() => read === part * 6)
      await clock.advanceAsync(20_000, 10_000)
    }
    await clock.advanceAsync(10_000, 1_000)
    const [response] = await answered
    t.equal(response.statusCode, 408)
    response.resume()
    const closed = once(request, 'close')
    request.on('error', () => {})
    await clock.advanceAsync(30_000, 10_000)
    await closed
  })
})
