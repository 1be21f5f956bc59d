import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { type ApiAnswer, type ApiRequest, openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { operation } from '../api/operation.js'
import { idParam, integerParam, patchBody } from '../base/schemas.js'
import { unavailable } from '../db/transient-error.js'

/** A little API with one operation of each kind, to send bad input to. */
const Thing = z.object({ id: z.string(), text: z.string() })

const createThing = operation({
  id: 'createThing',
  method: 'post',
  path: '/v1/things',
  tag: 'Things',
  summary: 'Makes a thing',
  audience: 'key',
  scope: 'write',
  query: z.object({ dry: z.enum(['yes', 'no']).optional() }),
  body: z.strictObject({
    text: z.string().min(1).max(10),
    parts: z.array(z.strictObject({ size: z.int().min(0) })).optional(),
    to: z.union([z.strictObject({ number: z.string() }), z.strictObject({ name: z.string() })]).optional(),
  }),
  status: 201,
  result: Thing,
  fails: [],
  run: ({ body }) => ({ id: 'thing_1', text: body.text, secretColumn: 'must not leave' }),
})

const getThing = operation({
  id: 'getThing',
  method: 'get',
  path: '/v1/things/:id',
  tag: 'Things',
  summary: 'Reads a thing',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('agt') }),
  query: z.object({ depth: integerParam(1, 3).optional() }),
  status: 200,
  result: Thing,
  fails: ['not_found'],
  run: ({ params, query }) => ({ id: params.id, text: String(query.depth ?? 'none') }),
})

const patchThing = operation({
  id: 'patchThing',
  method: 'patch',
  path: '/v1/things/:id',
  tag: 'Things',
  summary: 'Changes a thing',
  audience: 'key',
  scope: 'write',
  params: z.object({ id: idParam('agt') }),
  body: patchBody({ text: z.string() }),
  status: 200,
  result: Thing,
  fails: [],
  run: ({ params, body }) => ({ id: params.id, text: body.text ?? '' }),
})

const poke = operation({
  id: 'poke',
  method: 'post',
  path: '/v1/things/:id/poke',
  tag: 'Things',
  summary: 'An action without a body',
  audience: 'key',
  scope: 'admin',
  params: z.object({ id: idParam('agt') }),
  status: 204,
  fails: [],
  run: () => {},
})

const special = operation({
  id: 'special',
  method: 'get',
  path: '/v1/things/special',
  tag: 'Things',
  summary: 'A static path beside :id',
  audience: 'public',
  status: 200,
  bare: true,
  result: z.object({ special: z.boolean() }),
  fails: [],
  run: () => ({ special: true }),
})

const liveOnly = operation({
  id: 'liveOnly',
  method: 'get',
  path: '/v1/live-only',
  tag: 'Things',
  summary: 'For live keys',
  audience: 'key',
  scope: 'read',
  environment: 'live',
  status: 200,
  result: z.object({}),
  fails: [],
  run: () => ({}),
})

const broken = operation({
  id: 'broken',
  method: 'get',
  path: '/v1/broken/:how',
  tag: 'Things',
  summary: 'Fails in ways that are faults of ours',
  audience: 'public',
  params: z.object({ how: z.enum(['throws', 'misfits', 'waits']) }),
  status: 200,
  result: z.object({ ok: z.boolean() }),
  fails: [],
  run: ({ params }): { ok: boolean } => {
    if (params.how === 'throws') throw new Error('password=hunter2')
    if (params.how === 'waits') throw unavailable('a test', 'database is locked')
    return JSON.parse('{"ok":"hunter2"}')
  },
})

const OPERATIONS = [getThing, createThing, patchThing, poke, special, liveOnly, broken]
const ID = 'agt_01JZ0000000000000000000000'

interface BadInput {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly request?: ApiRequest
  readonly status: number
  readonly code: string
  /** Expected in details (issues as `path: reason` lines), or in the message. */
  readonly issues?: readonly string[]
  readonly message?: RegExp
}

const post = (request: ApiRequest): Pick<BadInput, 'method' | 'path' | 'request'> => ({
  method: 'POST',
  path: '/v1/things',
  request,
})

const BAD: readonly BadInput[] = [
  { name: 'unknown path', path: '/v1/nothing', status: 404, code: 'not_found' },
  { name: 'outside the API', path: '/elsewhere', status: 404, code: 'not_found' },
  { name: 'trailing slash', path: `/v1/things/${ID}/`, status: 404, code: 'not_found' },
  { name: 'other case', path: '/V1/things', status: 404, code: 'not_found' },
  {
    name: 'unknown path without a key',
    path: '/v1/nothing',
    request: { key: null },
    status: 404,
    code: 'not_found',
  },
  { name: 'wrong method', method: 'DELETE', path: '/v1/things', status: 405, code: 'method_not_allowed' },
  { name: 'invalid percent-encoding', path: '/v1/things/%zz', status: 400, code: 'bad_request' },
  { name: 'malformed id', path: '/v1/things/thing_7', status: 404, code: 'not_found' },
  {
    name: 'id of another kind',
    path: '/v1/things/org_01JZ0000000000000000000000',
    status: 404,
    code: 'not_found',
  },
  {
    name: 'malformed id and an unknown query parameter',
    path: '/v1/things/thing_7?dept=1',
    status: 400,
    code: 'validation_error',
    issues: ['query.dept: unknown parameter'],
  },
  {
    name: 'malformed id and an invalid body',
    method: 'PATCH',
    path: '/v1/things/thing_7',
    request: { json: { text: 5 } },
    status: 400,
    code: 'validation_error',
    issues: ['text: Invalid input: expected string, received number'],
  },
  {
    name: 'path value outside its set',
    path: '/v1/broken/sings',
    status: 400,
    code: 'validation_error',
    issues: ['path.how: Invalid option: expected one of "throws"|"misfits"|"waits"'],
  },
  { name: 'no key', path: `/v1/things/${ID}`, request: { key: null }, status: 401, code: 'unauthenticated' },
  {
    name: 'malformed key',
    path: `/v1/things/${ID}`,
    request: { key: 'abc' },
    status: 401,
    code: 'unauthenticated',
  },
  {
    name: 'unknown key',
    path: `/v1/things/${ID}`,
    request: { key: 'svc_test_000000000000000000000000000000001riOPW' },
    status: 401,
    code: 'unauthenticated',
  },
  {
    name: 'other scheme',
    path: `/v1/things/${ID}`,
    request: { key: null, headers: { authorization: 'Basic YTpi' } },
    status: 401,
    code: 'unauthenticated',
  },
  { name: 'wrong environment', path: '/v1/live-only', status: 403, code: 'forbidden' },
  {
    name: 'unknown query parameters',
    path: `/v1/things/${ID}?dept=1&x=2`,
    status: 400,
    code: 'validation_error',
    issues: ['query.dept: unknown parameter', 'query.x: unknown parameter'],
  },
  {
    name: 'key in the query',
    path: `/v1/things/${ID}?api_key=svc`,
    status: 400,
    code: 'validation_error',
    issues: ['query.api_key: unknown parameter'],
  },
  {
    name: 'query value out of range',
    path: `/v1/things/${ID}?depth=4`,
    status: 400,
    code: 'validation_error',
    issues: ['query.depth: must be a whole number from 1 to 3'],
  },
  {
    name: 'query value of another type',
    path: `/v1/things/${ID}?depth=1e0`,
    status: 400,
    code: 'validation_error',
    issues: ['query.depth: must be a whole number from 1 to 3'],
  },
  {
    name: 'query parameter twice',
    path: `/v1/things/${ID}?depth=1&depth=2`,
    status: 400,
    code: 'validation_error',
    issues: ['query.depth: given more than once'],
  },
  {
    name: 'NUL in the query',
    path: `/v1/things/${ID}?depth=%00`,
    status: 400,
    code: 'validation_error',
    issues: [
      'query.depth: contains a NUL character or an unpaired surrogate',
      'query.depth: must be a whole number from 1 to 3',
    ],
  },
  {
    name: 'body on a GET',
    method: 'DELETE',
    path: `/v1/things/${ID}/poke`,
    request: { json: {} },
    status: 405,
    code: 'method_not_allowed',
  },
  { name: 'no body', ...post({}), status: 400, code: 'bad_request', message: /body is missing/ },
  {
    name: 'other content type',
    ...post({ raw: '{"text":"a"}', headers: { 'content-type': 'text/plain' } }),
    status: 400,
    code: 'bad_request',
    message: /Content-Type/,
  },
  {
    name: 'other character set',
    ...post({
      raw: Buffer.from('{"text":"a"}', 'utf16le'),
      headers: { 'content-type': 'application/json; charset=UTF-16' },
    }),
    status: 400,
    code: 'bad_request',
    message: /UTF-8/,
  },
  {
    name: 'a field name twice',
    ...post({ raw: '{"text":"a","text":"b"}' }),
    status: 400,
    code: 'bad_request',
    message: /same field name twice/,
  },
  {
    name: 'a field name twice, once escaped, in a part',
    ...post({ raw: '{"text":"a:\\"b","parts":[{"size":1,"\\u0073ize":2}]}' }),
    status: 400,
    code: 'bad_request',
    message: /same field name twice/,
  },
  { name: 'broken JSON', ...post({ raw: '{"text":' }), status: 400, code: 'bad_request', message: /JSON/ },
  {
    name: 'broken UTF-8',
    ...post({ raw: Buffer.from([0x22, 0xff, 0x22]) }),
    status: 400,
    code: 'bad_request',
    message: /UTF-8/,
  },
  {
    name: 'NUL in text',
    ...post({ json: { text: 'a\0b' } }),
    status: 400,
    code: 'bad_request',
    message: /NUL/,
  },
  {
    name: 'half a surrogate pair',
    ...post({ raw: '{"text":"\\ud800"}' }),
    status: 400,
    code: 'bad_request',
    message: /surrogate/,
  },
  {
    name: 'prototype in a body',
    ...post({ raw: '{"text":"a","__proto__":{"x":1}}' }),
    status: 400,
    code: 'bad_request',
    message: /field name/,
  },
  {
    name: 'deep nesting',
    ...post({ raw: `{"text":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }),
    status: 400,
    code: 'bad_request',
    message: /nested too deeply/,
  },
  {
    name: 'too many fields',
    ...post({ json: Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`f${i}`, 1])) }),
    status: 400,
    code: 'bad_request',
    message: /limit is 10000 fields and elements/,
  },
  {
    name: 'too many elements',
    ...post({ raw: `{"text":[${'1,'.repeat(10_001)}1]}` }),
    status: 400,
    code: 'bad_request',
    message: /limit is 10000 fields and elements/,
  },
  {
    name: 'a text that no field takes',
    ...post({ json: { text: 'a'.repeat(400_001) } }),
    status: 400,
    code: 'bad_request',
    message: /a text of more than 400000 bytes/,
  },
  {
    name: 'commas, colons and brackets within a text',
    ...post({ json: { text: 'a,b:[{"c":1}],'.repeat(20_000) } }),
    status: 400,
    code: 'validation_error',
  },
  {
    name: 'oversize',
    ...post({ raw: JSON.stringify({ text: 'a'.repeat(1024 * 1024) }) }),
    status: 400,
    code: 'bad_request',
    message: /limit is 1048576 bytes/,
  },
  {
    name: 'compressed',
    ...post({ raw: 'x', headers: { 'content-encoding': 'gzip' } }),
    status: 400,
    code: 'bad_request',
    message: /compressed/,
  },
  {
    name: 'body of another type',
    ...post({ json: ['text'] }),
    status: 400,
    code: 'validation_error',
    issues: [': Invalid input: expected object, received array'],
  },
  {
    name: 'every issue of query and body in one response',
    method: 'POST',
    path: '/v1/things?dry=maybe&wet=1',
    request: { json: { parts: [{ size: 1 }, { size: -1, colour: 'red' }, {}], extra: 1 } },
    status: 400,
    code: 'validation_error',
    issues: [
      'query.dry: Invalid option: expected one of "yes"|"no"',
      'query.wet: unknown parameter',
      'text: required',
      'parts[1].size: Too small: expected number to be >=0',
      'parts[1].colour: unknown field',
      'parts[2].size: required',
      'extra: unknown field',
    ],
  },
  {
    name: 'closest variant of a union',
    ...post({ json: { text: 'a', to: { number: 5 } } }),
    status: 400,
    code: 'validation_error',
    issues: ['to.number: Invalid input: expected string, received number'],
  },
  {
    name: 'empty PATCH',
    method: 'PATCH',
    path: `/v1/things/${ID}`,
    request: { json: {} },
    status: 400,
    code: 'validation_error',
    issues: [': at least one field is required'],
  },
  {
    name: 'null where none is allowed',
    method: 'PATCH',
    path: `/v1/things/${ID}`,
    request: { json: { text: null } },
    status: 400,
    code: 'validation_error',
    issues: ['text: Invalid input: expected string, received null'],
  },
  {
    name: 'field for an action without fields',
    method: 'POST',
    path: `/v1/things/${ID}/poke`,
    request: { json: { hard: true } },
    status: 400,
    code: 'validation_error',
    issues: ['hard: unknown field'],
  },
  { name: 'handler that throws', path: '/v1/broken/throws', status: 500, code: 'internal_error' },
  {
    name: 'result that does not match the schema',
    path: '/v1/broken/misfits',
    status: 500,
    code: 'internal_error',
  },
  { name: 'database that is busy', path: '/v1/broken/waits', status: 503, code: 'internal_error' },
]

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'authentication',
  403: 'authorization',
  404: 'not_found',
  405: 'invalid_request',
  500: 'server_error',
  503: 'server_error',
}

interface Envelope {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details?: { readonly issues?: readonly { path: string; reason: string }[] }
    readonly request_id: string
  }
}

t.test('the API over HTTP', async (t) => {
  await onEachDialect(t, async (t, open, engine) => {
    const lines: string[] = []
    const note = (level: string) => (fields: object, message: string) => {
      lines.push(JSON.stringify({ level, message, ...fields }))
    }
    const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
    const api = await openTestApi({ database: await open(), operations: OPERATIONS, log })

    await t.test('bad input', async (t) => {
      // The table is about parsing, which knows no database; the keyed rows are enough for the second.
      const rows = engine === 'sqlite' ? BAD : BAD.filter(({ status }) => status === 401 || status === 403)
      for (const row of rows) {
        const answer = await api.send(row.method ?? 'GET', row.path, row.request)
        checkEnvelope(t, row, answer)
      }
    })

    await t.test('good input', async (t) => {
      const created = await api.send('POST', '/v1/things?dry=no', { json: { text: 'नमस्ते' } })
      t.equal(created.status, 201)
      t.same(created.body, { data: { id: 'thing_1', text: 'नमस्ते' } }, 'an unlisted column does not leave')
      t.equal(created.headers.get('content-type'), 'application/json')
      t.equal(created.headers.get('x-content-type-options'), 'nosniff')
      t.equal(created.headers.get('x-powered-by'), null)
      t.same((await api.send('GET', `/v1/things/${ID}?depth=2`)).body, { data: { id: ID, text: '2' } })
      t.same((await api.send('GET', '/v1/things/special', { key: null })).body, { special: true })
      const colons = { text: 'a:"\\":', parts: [{ size: 1 }, { size: 2 }], to: { name: ':' } }
      t.equal((await api.send('POST', '/v1/things', { json: colons })).status, 201, 'colons in texts')
      t.equal((await api.send('POST', `/v1/things/${ID}/poke`)).status, 204)
      t.equal((await api.send('POST', `/v1/things/${ID}/poke`, { json: {} })).status, 204)
      t.equal((await api.send('GET', '/v1/live-only', { key: api.liveKey })).status, 200)
      const head = await api.send('HEAD', `/v1/things/${ID}`)
      t.equal(head.status, 200)
      t.equal(head.body, undefined)
      const chunked = await fetch(`${api.url}/v1/things`, {
        method: 'POST',
        headers: {
          authorization: `bearer ${api.testKey}`,
          'content-type': 'application/json; charset=utf-8',
        },
        body: new Blob(['{"text":', '"a"}']).stream(),
        duplex: 'half',
      } as RequestInit)
      t.equal(chunked.status, 201)
      await chunked.body?.cancel()
    })

    await t.test('a 405 names the allowed methods', async (t) => {
      const answer = await api.send('DELETE', `/v1/things/${ID}`)
      t.equal(answer.headers.get('allow'), 'GET, HEAD, PATCH')
      t.equal((await api.send('OPTIONS', '/v1/things')).status, 405)
    })

    await t.test('a 401 names the scheme', async (t) => {
      const answer = await api.send('GET', `/v1/things/${ID}`, { key: null })
      t.equal(answer.headers.get('www-authenticate'), 'Bearer realm="api"')
    })

    await t.test('a fault is logged under its request id and not disclosed', async (t) => {
      const answer = await api.send('GET', '/v1/broken/throws')
      const { error } = answer.body as Envelope
      t.notMatch(JSON.stringify(answer.body), /hunter2/)
      t.ok(lines.some((line) => line.includes(error.request_id) && line.includes('hunter2')))
      const busy = await api.send('GET', '/v1/broken/waits')
      t.equal(busy.headers.get('retry-after'), '1', 'what may work in a moment says so')
      const misfit = (await api.send('GET', '/v1/broken/misfits')).body as Envelope
      t.notMatch(JSON.stringify(misfit), /hunter2/)
      t.ok(lines.some((line) => line.includes(misfit.error.request_id) && line.includes('does not fit')))
    })

    await t.test('an inbound x-request-id is ignored', async (t) => {
      const answer = await api.send('GET', '/v1/things/special', { headers: { 'x-request-id': 'mine' } })
      t.match(answer.headers.get('x-request-id'), /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
    })

    await t.test('data that is not HTTP gets an error', async (t) => {
      const { port } = api.server
      t.match(await raw(port, 'HELLO\r\n\r\n'), /^HTTP\/1.1 400 [\s\S]*"code":"bad_request"/)
      const big = `GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`
      const tooLarge = await raw(port, big)
      t.match(tooLarge, /^HTTP\/1.1 431 Request Header Fields Too Large\r\n[\s\S]*x-request-id: req_/)
      t.match(tooLarge, '"code":"headers_too_large"')
    })

    await api.close()
    await t.rejects(api.send('GET', '/v1/things/special'))
  })
})

function checkEnvelope(t: Test, row: BadInput, answer: ApiAnswer): void {
  const { error } = answer.body as Envelope
  t.equal(answer.status, row.status, `${row.name}: status`)
  t.match(
    error,
    {
      type: TYPES[row.status],
      code: row.code,
      message: row.message ?? /\w/,
      doc_url: `http://parley.test/docs/errors#${row.code}`,
      request_id: answer.headers.get('x-request-id'),
    },
    `${row.name}: envelope`,
  )
  if (row.issues !== undefined) {
    const issues = error.details?.issues?.map(({ path, reason }) => `${path}: ${reason}`)
    t.same(issues?.toSorted(), row.issues.toSorted(), `${row.name}: issues`)
  }
}

async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (part: string) => {
    answer += part
  })
  socket.write(text)
  await once(socket, 'close')
  return answer
}
