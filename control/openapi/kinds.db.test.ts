import { createHmac } from 'node:crypto'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { generateClient } from '../../clients/typescript/generate.js'
import { openTestApi } from '../../fixtures/api/api.js'
import { type MadeRequest, requestsOf, VALID_TOKEN } from '../../fixtures/contract/arbitrary.js'
import { type DescribedOperation, describedOperations } from '../../fixtures/contract/described-operations.js'
import { openJudge } from '../../fixtures/contract/judge.js'
import { encode } from '../../fixtures/contract/populated-service.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { csvRows } from '../api/content.js'
import { EventQueue } from '../api/event-queue.js'
import {
  csvOperation,
  downloadOperation,
  eventStreamOperation,
  listOperation,
  operation,
  pageOperation,
  uploadOperation,
} from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { withWarnings } from '../api/reply.js'
import { constantTimeEqual } from '../base/crypto.js'
import { writeAddressToken } from '../base/signed-address.js'
import { setRequestLimit } from '../limits/rate-limit-store.js'
import { apiFacts } from './api-facts.js'
import { openApiDocument } from './document.js'

/*
 * One operation of each kind. The description, the client, the judge of answers and the fuzzer must know each
 * kind without further work.
 */

const Count = z.object({ bytes: z.int() })
const Warning = z.object({ provider: z.string(), code: z.string() })
const mac = (body: string | Buffer) => createHmac('sha256', 'secret').update(body).digest('hex')

const putFile = uploadOperation({
  id: 'putFile',
  method: 'put',
  path: '/v1/files/:token',
  tag: 'Test',
  summary: 'Upload a file',
  audience: 'address',
  address: 'upload',
  params: z.object({ token: z.string().max(512) }),
  accepts: ['application/pdf', 'image/png'],
  maxBytes: 1000,
  status: 201,
  result: Count,
  fails: [],
  run: async ({ body }) => ({ bytes: (await text(body.content)).length }),
})

const importRows = uploadOperation({
  id: 'importRows',
  method: 'post',
  path: '/v1/rows/import',
  tag: 'Test',
  summary: 'Import rows',
  audience: 'key',
  scope: 'write',
  accepts: ['text/csv'],
  maxBytes: 1000,
  status: 200,
  result: z.object({ cells: z.int() }),
  fails: [],
  run: async ({ body }) => {
    let cells = 0
    for await (const row of csvRows(body, { maxColumns: 51, maxRows: 1_000 })) cells += row.cells.length
    return { cells }
  },
})

const receiveCallback = uploadOperation({
  id: 'receiveCallback',
  method: 'post',
  path: '/v1/callbacks/:provider',
  tag: 'Test',
  summary: 'Receive a callback',
  audience: 'signed',
  signature: () => ({
    repeats: 'pass',
    verify: ({ header, body }) =>
      constantTimeEqual(header('x-mac') ?? '', mac(body)) ? { key: mac(body), signedAt: null } : null,
  }),
  params: z.object({ provider: z.string() }),
  accepts: ['application/x-www-form-urlencoded'],
  maxBytes: 1000,
  status: 204,
  fails: [],
  run: () => {},
})

const exportRows = csvOperation({
  id: 'exportRows',
  path: '/v1/rows.csv',
  tag: 'Test',
  summary: 'Download rows',
  audience: 'key',
  scope: 'read',
  query: z.object({ search: z.string().max(10).optional() }),
  columns: [
    { name: 'id', value: (row: { id: number }) => row.id },
    { name: 'text', value: () => 'a, "b"\r\nc' },
  ],
  view: (row: { id: number }) => row,
  fileName: 'rows.csv',
  fails: [],
  run: async function* () {
    yield [{ id: 1 }, { id: 2 }]
  },
})

const readPaper = downloadOperation({
  id: 'readPaper',
  path: '/v1/paper.pdf',
  tag: 'Test',
  summary: 'Download a paper',
  audience: 'key',
  scope: 'read',
  contentType: 'application/pdf',
  fails: [],
  run: () => ({ fileName: 'paper.pdf', content: Buffer.from('%PDF-1.7') }),
})

const readNote = pageOperation({
  id: 'readNote',
  path: '/v1/notes/:id',
  tag: 'Test',
  summary: 'Read a note',
  audience: 'public',
  params: z.object({ id: z.string() }),
  result: z.object({ text: z.string() }),
  html: () => '<!doctype html><p>A note</p>',
  fails: ['not_found'],
  run: ({ params }) => (params.id === '0' ? refuse('not_found', 'No note.') : { text: params.id }),
})

const listOffers = listOperation({
  id: 'listOffers',
  path: '/v1/offers',
  tag: 'Test',
  summary: 'List offers',
  audience: 'key',
  scope: 'read',
  result: z.object({ id: z.string() }),
  warning: Warning,
  fails: [],
  run: () =>
    withWarnings({ items: [{ id: 'a' }], next: null }, [{ provider: 'x', code: 'away', secret: 'no' }]),
})

const checkOffer = operation({
  id: 'checkOffer',
  method: 'post',
  path: '/v1/offers/check',
  tag: 'Test',
  summary: 'Check an offer',
  audience: 'key',
  scope: 'write',
  body: z.strictObject({ id: z.string() }),
  status: 200,
  result: z.object({ id: z.string() }),
  warning: Warning,
  fails: [],
  run: ({ body }) => ({ id: body.id }),
})

const watchOffers = eventStreamOperation({
  id: 'watchOffers',
  path: '/v1/offers/:token/live',
  tag: 'Test',
  summary: 'Watch offers',
  audience: 'address',
  address: 'upload',
  params: z.object({ token: z.string().max(512) }),
  query: z.object({ search: z.string().max(10).optional() }),
  events: { offer: z.object({ id: z.string(), after: z.string().nullable() }) },
  fails: [],
  run: ({ lastEventId }) => {
    const queue = new EventQueue(() => {})
    queue.push('a', { event: 'offer', data: { id: 'a', after: lastEventId, secret: 'no' }, id: '7' })
    queue.end('over')
    return queue
  },
})

const operations = [
  ...[putFile, importRows, receiveCallback, exportRows, readPaper, readNote, listOffers, checkOffer],
  watchOffers,
]
const document = openApiDocument({ version: '1', operations, webhooks: [] })
const described = describedOperations(document, operations)

const mediaOf = (id: string, status: string): Record<string, unknown> => {
  for (const methods of Object.values(document.paths as Record<string, Record<string, unknown>>)) {
    for (const node of Object.values(methods) as Record<string, unknown>[]) {
      if (node.operationId !== id) continue
      const holder =
        status === 'body' ? node.requestBody : (node.responses as Record<string, unknown>)[status]
      return (holder as { content: Record<string, unknown> }).content
    }
  }
  throw new Error(`no ${id}`)
}

t.test('the description of each kind', async (t) => {
  const bytes = { schema: { maxLength: 1000 } }
  t.same(mediaOf('putFile', 'body'), { 'application/pdf': bytes, 'image/png': bytes })
  t.same(mediaOf('importRows', 'body'), { 'text/csv': bytes })
  t.same(mediaOf('exportRows', '200'), {
    'text/csv; charset=utf-8': { schema: { type: 'string' }, example: 'id,text\r\n' },
  })
  t.same(mediaOf('readPaper', '200'), { 'application/pdf': {} })
  t.same(Object.keys(mediaOf('readNote', '200')), ['application/json', 'text/html; charset=utf-8'])
  const warned = { properties: { meta: { required: ['pagination', 'warnings'] } } }
  t.match(mediaOf('listOffers', '200'), { 'application/json': { schema: warned } })
  t.match(mediaOf('checkOffer', '200'), {
    'application/json': {
      schema: { required: ['data', 'meta'], properties: { meta: { required: ['warnings'] } } },
    },
  })
  t.match(mediaOf('watchOffers', '200'), {
    'text/event-stream': {
      'x-events': { offer: { required: ['id', 'after'] }, end: { required: ['reason'] } },
    },
  })
  const codes = new Map(described.map(({ id, codes }) => [id, codes]))
  t.ok(codes.get('putFile')?.includes('document_too_large'))
  t.notOk(codes.get('importRows')?.includes('document_too_large'))
  t.ok(codes.get('readNote')?.includes('not_acceptable'))
})

t.test('the facts that later descriptions must keep', async (t) => {
  const { kept } = apiFacts(document)
  for (const fact of [
    'putFile\ttakes image/png',
    'exportRows\tanswers 200 text/csv; charset=utf-8',
    'exportRows\tcolumn text',
    'readNote\tanswers 200 text/html; charset=utf-8',
    'watchOffers\tsends offer',
    'watchOffers event offer.id\talways',
    'listOffers result.meta.warnings[].provider\talways',
  ]) {
    t.ok(kept.includes(fact), fact)
  }
})

t.test('the methods of the client', async (t) => {
  const api = (generateClient(document)['api.ts'] ?? '').replaceAll('\n', ' ')
  t.match(
    api,
    /putFile\(input: \{ readonly token: string; readonly body: UploadBody; readonly contentType: "application\/pdf" \| "image\/png" \},/,
  )
  t.match(api, /type UploadBody/)
  t.match(api, /rows\/import'[^}]*idempotent: true/)
  t.match(api, /importRows\(input: \{ readonly body: UploadBody; readonly contentType: "text\/csv" \}/)
  t.match(api, /exportRows\(.*?Promise<Response>/)
  t.match(api, /readPaper\(.*?Promise<Response>/)
  t.match(
    api,
    /watchOffers\(.*?Promise<EventStream<\{ readonly event: "offer"; readonly data: \{\s+readonly id: string/,
  )
  t.match(api, /listOffers\(.*?Promise<Page<[^>]+, \{/)
  t.match(api, /checkOffer\(.*?readonly warnings: readonly \(/)
})

t.test('every answer to made-up requests fits the API description', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openTestApi({ database: await open(), operations })
    const { deps, organizationId } = api
    await setRequestLimit(deps.db, { organizationId, environment: 'test' }, 100_000_000)
    const judge = openJudge(document)
    const outcomes = new Set<string>()

    const send = async (one: DescribedOperation, made: MadeRequest) => {
      const token = writeAddressToken(deps.rootKey, 'upload', {
        subject: 'doc_1',
        expiresAt: deps.clock.wall() + 60_000,
      })
      const path = one.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
        const value = made.path[name] ?? ''
        return encode(value === VALID_TOKEN ? token : value)
      })
      const query = new URLSearchParams(made.query.map(([name, value]): [string, string] => [name, value]))
      const body = made.raw ?? (made.body === undefined ? undefined : JSON.stringify(made.body))
      const response = await fetch(`${api.url}${path}?${query}`, {
        method: one.method.toUpperCase(),
        headers: {
          ...(one.operation.audience === 'key' ? { authorization: `Bearer ${api.testKey}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json', 'x-mac': mac(body) }),
          ...made.headers,
        },
        ...(body === undefined || one.method === 'get' ? {} : { body }),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      return { status: response.status, headers: response.headers, text: bytes.toString('utf8') }
    }

    for (const one of described) {
      const property = fc.asyncProperty(requestsOf(one), async (made) => {
        const answer = await send(one, made)
        outcomes.add(`${one.id} ${answer.status}`)
        const problems = judge(one, answer)
        if (problems.length > 0) throw new Error(`${problems.join('; ')} -> ${answer.status} ${answer.text}`)
      })
      const result = await fc.check(property, { seed: 20_261_122, numRuns: 60 })
      t.notOk(result.failed, `${one.id} ${String(result.errorInstance ?? '')}`)
    }
    const reached = [
      ...['putFile 201', 'putFile 400', 'putFile 404', 'importRows 200'],
      ...['importRows 400', 'receiveCallback 204', 'exportRows 200', 'readPaper 200', 'readNote 200'],
      ...['listOffers 200', 'checkOffer 200', 'watchOffers 200', 'watchOffers 404'],
    ]
    for (const outcome of reached) t.ok(outcomes.has(outcome), outcome)

    const address = writeAddressToken(deps.rootKey, 'upload', {
      subject: 'doc_1',
      expiresAt: deps.clock.wall() + 60_000,
    })
    const stream = await fetch(`${api.url}/v1/offers/${address}/live`, { headers: { 'last-event-id': '6' } })
    t.equal(
      await stream.text(),
      'retry: 2000\n\nid: 7\nevent: offer\ndata: {"id":"a","after":"6"}\n\nevent: end\ndata: {"reason":"over"}\n\n',
    )
    const offers = await api.send('GET', '/v1/offers')
    t.same((offers.body as { meta: unknown }).meta, {
      pagination: { cursor: null, hasMore: false },
      warnings: [{ provider: 'x', code: 'away' }],
    })
    const offer = await api.send('POST', '/v1/offers/check', { json: { id: 'a' } })
    t.same(offer.body, { data: { id: 'a' }, meta: { warnings: [] } })
    const csv = { 'content-type': 'text/csv' }
    t.match(await api.send('POST', '/v1/rows/import', { raw: 'x'.repeat(1001), headers: csv }), {
      status: 400,
      body: { error: { code: 'bad_request', details: { bytes: 1001, maxBytes: 1000 } } },
    })
    for (const raw of ['sep=;\na;b,c\n1;2\n', 'a\tb\n1\t2', 'a,b\n1,2\n']) {
      t.same((await api.send('POST', '/v1/rows/import', { raw, headers: csv })).body, {
        data: { cells: 4 },
      })
    }
    t.match(await api.send('POST', '/v1/rows/import', { raw: 'a,b\n"c', headers: csv }), {
      status: 400,
      body: { error: { code: 'bad_request', message: /Line 2: a quote is not closed/ } },
    })
    t.match(await api.send('POST', '/v1/rows/import', { raw: Buffer.from([0x61, 0xff]), headers: csv }), {
      status: 400,
      body: { error: { message: /Line 1: the text is not UTF-8/ } },
    })
    await api.close()
  })
})
