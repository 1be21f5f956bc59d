import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { type Log, silentLog } from '../../media/base/log.js'
import { csvOperation, downloadOperation, fileOperation, pageOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'

const MB = 1024 * 1024
const WAIT_MS = 20_000

/** Makes the rows of `/v1/rows.csv`. */
let makeBatches: () => AsyncGenerator<readonly string[]>

const rows = csvOperation({
  id: 'exportRows',
  path: '/v1/rows.csv',
  tag: 'Test',
  summary: 'Download rows',
  audience: 'key',
  scope: 'read',
  query: z.object({ search: z.string().optional() }),
  columns: [{ name: 'text', value: (text: string) => text }],
  view: (text: string) => text,
  fileName: 'rows.csv',
  fails: ['unprocessable_entity'],
  run: ({ query }) =>
    query.search === undefined ? makeBatches() : refuse('unprocessable_entity', 'Too many.'),
})

const paper = downloadOperation({
  id: 'readPaper',
  path: '/v1/papers/:id/paper.pdf',
  tag: 'Test',
  summary: 'Download a paper',
  audience: 'public',
  params: z.object({ id: z.string() }),
  contentType: 'application/pdf',
  fails: ['not_found'],
  run: ({ params }) =>
    params.id === '1'
      ? { fileName: 'चालान "1".pdf', content: Buffer.from('%PDF-1.7') }
      : refuse('not_found', 'There is no such paper.'),
})

const note = pageOperation({
  id: 'readNote',
  path: '/v1/notes/:id',
  tag: 'Test',
  summary: 'Read a note',
  audience: 'public',
  params: z.object({ id: z.string() }),
  result: z.object({ text: z.string() }),
  html: ({ text }) => `<!doctype html><p>${text}</p>`,
  fails: ['not_found'],
  run: ({ params }) =>
    params.id === '1' ? { text: 'hello', hidden: 1 } : refuse('not_found', `No <b>${params.id}</b>.`),
})

const database = await openMigratedSqlite()

/** Events of the log that tell of an error. */
const errors: string[] = []
const log: Log = { ...silentLog, error: (_fields, event) => errors.push(event) }

/** Opens the content of `/v1/file`. */
let openFile: () => Readable

const file = fileOperation({
  id: 'readFile',
  path: '/v1/file',
  tag: 'Test',
  summary: 'Download a file',
  audience: 'public',
  contentType: 'audio/wav',
  fails: [],
  run: () => ({
    ...{ bytes: 10, version: 'one', modifiedAt: 0, contentType: 'audio/wav', fileName: 'a.wav' },
    open: async () => openFile(),
  }),
})

const api = await openTestApi({ database, operations: [rows, paper, note, file], log })
t.teardown(async () => {
  await api.close()
  await database.close()
})

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${api.url}${path}`, { method, headers: { authorization: `Bearer ${api.testKey}`, ...headers } })

/** Opens `/v1/rows.csv` and reads nothing. */
async function openRows(): Promise<IncomingMessage> {
  const request = httpRequest({
    host: '127.0.0.1',
    port: api.server.port,
    path: '/v1/rows.csv',
    headers: { authorization: `Bearer ${api.testKey}` },
  })
  request.on('error', () => {})
  request.end()
  const [response] = await once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
  return response
}

t.test('CSV: head, rows, refusal', async (t) => {
  makeBatches = async function* () {
    yield ['a', '=1']
    yield ['b']
  }
  const response = await get('/v1/rows.csv')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.equal(response.headers.get('content-disposition'), 'attachment; filename=rows.csv')
  t.equal(Buffer.from(await response.arrayBuffer()).toString('utf8'), "\uFEFFtext\r\na\r\n'=1\r\nb\r\n")
  const refused = await get('/v1/rows.csv?search=x')
  t.equal(refused.status, 422)
  t.match(await refused.json(), { error: { code: 'unprocessable_entity' } })
  t.equal((await get('/v1/rows.csv?other=x')).status, 400)
})

t.test('CSV: rows are made as fast as the client takes them', async (t) => {
  const text = 'x'.repeat(MB)
  const total = 128
  let made = 0
  let taken = 0
  let mostHeld = 0
  makeBatches = async function* () {
    for (; made < total; made++) {
      mostHeld = Math.max(mostHeld, made - taken / MB)
      yield [text]
    }
  }
  const response = await openRows()
  for await (const chunk of response) {
    taken += chunk.length
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(taken > total * MB)
  // The buffers of the two sockets hold a few megabytes.
  t.ok(mostHeld < 32, `at most ${Math.round(mostHeld)} of ${total} MB between the rows and the client`)
})

t.test('CSV: a client that goes away ends the query', async (t) => {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  makeBatches = async function* () {
    try {
      for (;;) yield ['x'.repeat(MB)]
    } finally {
      end()
    }
  }
  const response = await openRows()
  response.destroy()
  await ended
  t.pass('the generator was closed')
})

t.test('CSV: HEAD makes the first rows only', async (t) => {
  let batches = 0
  makeBatches = async function* () {
    for (;;) {
      batches++
      yield ['x']
    }
  }
  const response = await get('/v1/rows.csv', {}, 'HEAD')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.equal(batches, 1)
})

t.test('CSV: an error in the first rows is a response, a later one closes the connection', async (t) => {
  let good = 0
  makeBatches = async function* () {
    for (let i = 0; i < good; i++) yield ['x']
    throw new Error('the database is away')
  }
  const failed = await get('/v1/rows.csv')
  t.equal(failed.status, 500)
  t.equal(failed.headers.get('content-disposition'), null)
  t.match(await failed.json(), { error: { code: 'internal_error' } })
  good = 2
  const cut = get('/v1/rows.csv').then((response) => response.text())
  await t.rejects(cut, 'the client notices that the rest is missing')
})

/** Reads `bytes` of a path, leaves, and resolves when the server has taken note. */
async function readAndLeave(path: string, bytes: number, content: Readable): Promise<void> {
  const request = httpRequest({
    ...{ host: '127.0.0.1', port: api.server.port, path, agent: false },
    headers: { authorization: `Bearer ${api.testKey}` },
  })
  request.on('error', () => {})
  request.end()
  const [response] = await once(request, 'response', { signal: AbortSignal.timeout(WAIT_MS) })
  let got = 0
  response.on('error', () => {})
  await new Promise<void>((resolve) => {
    response.on('data', (chunk: Buffer) => {
      got += chunk.length
      if (got >= bytes) resolve()
    })
  })
  request.destroy()
  await new Promise((resolve) => {
    if (content.closed) resolve(null)
    else content.once('close', resolve)
  })
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('files: a client that leaves, with all or half of the bytes, is no error', async (t) => {
  for (const bytes of [10, 5]) {
    errors.length = 0
    // A file is closed some time after its last byte was read.
    const content = new Readable({ read() {} })
    content.push('0123456789'.slice(0, bytes))
    openFile = () => content
    await readAndLeave('/v1/file', bytes, content)
    t.ok(content.destroyed, 'the file is closed')
    t.strictSame(errors, [], `${bytes} of 10 bytes`)
  }
})

t.test('files and CSV: content that breaks off is an error, whatever its name is', async (t) => {
  const cut = () => Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
  errors.length = 0
  openFile = () =>
    new Readable({
      read() {
        this.push('01')
        this.destroy(cut())
      },
    })
  await t.rejects(get('/v1/file').then((response) => response.text()))
  makeBatches = async function* () {
    yield ['x']
    yield ['x']
    throw cut()
  }
  await t.rejects(get('/v1/rows.csv').then((response) => response.text()))
  t.equal(errors.length, 2)
})

t.test('bytes: type, length and file name', async (t) => {
  const response = await get('/v1/papers/1/paper.pdf')
  t.equal(response.headers.get('content-type'), 'application/pdf')
  t.equal(response.headers.get('content-length'), '8')
  t.match(response.headers.get('content-disposition'), /filename\*=UTF-8''%E0%A4%9A/)
  t.equal(await response.text(), '%PDF-1.7')
  const missing = await get('/v1/papers/2/paper.pdf')
  t.equal(missing.status, 404)
  t.equal(missing.headers.get('content-type'), 'application/json')
  t.equal((await get('/v1/papers/1/paper.pdf', {}, 'HEAD')).headers.get('content-length'), '8')
})

t.test('pages: HTML or JSON by Accept', async (t) => {
  const html: (string | null)[] = [null, '*/*', 'text/html,application/xhtml+xml,*/*;q=0.8', 'text/*']
  for (const accept of html) {
    const response = await get('/v1/notes/1', accept === null ? {} : { accept })
    t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8', `${accept}`)
    t.match(response.headers.get('vary'), /accept/i)
    t.equal(await response.text(), '<!doctype html><p>hello</p>')
  }
  for (const accept of ['application/json', 'application/*', 'text/html;q=0.5, application/json']) {
    const response = await get('/v1/notes/1', { accept })
    t.equal(response.headers.get('content-type'), 'application/json', accept)
    t.match(response.headers.get('vary'), /accept/i)
    t.same(await response.json(), { data: { text: 'hello' } }, 'only the fields of the schema')
  }
  const neither = await get('/v1/notes/1', { accept: 'image/png' })
  t.equal(neither.status, 406)
  t.match(await neither.json(), { error: { code: 'not_acceptable' } })
})

t.test('pages: refusals have the same rendering', async (t) => {
  const page = await get('/v1/notes/2', { accept: 'text/html' })
  t.equal(page.status, 404)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(await page.text(), /No &lt;b&gt;2&lt;\/b&gt;\.[\s\S]*not_found, req_/)
  const json = await get('/v1/notes/2', { accept: 'application/json' })
  t.match(await json.json(), { error: { code: 'not_found' } })
})
