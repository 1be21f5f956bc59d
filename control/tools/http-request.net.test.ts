import { createServer } from 'node:http'
import t from 'tap'
import { openReceiver } from '../../fixtures/api/webhooks.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { HttpToolAuth, HttpToolRequest } from '../../media/agent/agent-spec.js'
import { systemClock } from '../../media/base/clock.js'
import { openEgress } from '../net/egress.js'
import { buildRequest, requestProblem } from './http-request.js'
import { sendToolRequest } from './send-request.js'

const REQUEST: HttpToolRequest = {
  method: 'POST',
  url: 'https://crm.example/orders?shop=7',
  timeoutMs: 8000,
  headers: { 'X-Shop': 'seven', Accept: 'application/vnd.shop+json' },
  bodyFormat: 'json',
  bodyRoot: null,
  auth: null,
  connectionId: null,
}
const GIVEN = { id: 'A 1', count: 2, gift: true }
const AUTH: HttpToolAuth = {
  type: 'bearer',
  in: null,
  name: null,
  header: null,
  secretId: 'sec_1',
  secondary: null,
}
const NONE = { primary: null, secondary: null }

t.test('arguments are in the query of GET and DELETE, else in the body', async (t) => {
  t.same(buildRequest(REQUEST, GIVEN, NONE), {
    method: 'POST',
    url: 'https://crm.example/orders?shop=7',
    headers: {
      accept: 'application/vnd.shop+json',
      'user-agent': 'parley',
      'content-type': 'application/json',
      'x-shop': 'seven',
    },
    body: '{"id":"A 1","count":2,"gift":true}',
  })
  for (const method of ['GET', 'DELETE'] as const) {
    const built = buildRequest({ ...REQUEST, method }, GIVEN, NONE)
    t.equal(built.url, 'https://crm.example/orders?shop=7&id=A+1&count=2&gift=true')
    t.equal(built.body, null)
    t.notOk('content-type' in built.headers)
  }
  const root = buildRequest({ ...REQUEST, method: 'PUT', bodyRoot: 'order' }, GIVEN, NONE)
  t.equal(root.body, '{"order":{"id":"A 1","count":2,"gift":true}}')
  const form = buildRequest({ ...REQUEST, method: 'PATCH', bodyFormat: 'form' }, GIVEN, NONE)
  t.equal(form.body, 'id=A+1&count=2&gift=true')
  t.equal(form.headers['content-type'], 'application/x-www-form-urlencoded')
  const rooted = buildRequest({ ...REQUEST, bodyFormat: 'form', bodyRoot: 'o' }, { id: 1 }, NONE)
  t.equal(rooted.body, 'o%5Bid%5D=1')
})

t.test('credentials are sent in the configured position', async (t) => {
  const built = (
    auth: Partial<HttpToolAuth>,
    secrets = { primary: 's3', secondary: null as string | null },
  ) => buildRequest({ ...REQUEST, auth: { ...AUTH, ...auth } }, {}, secrets)
  t.equal(built({}).headers.authorization, 'Bearer s3')
  t.equal(built({ header: 'X-Token' }).headers['x-token'], 'Bearer s3')
  t.equal(built({ type: 'basic', name: 'shop' }).headers.authorization, 'Basic c2hvcDpzMw==')
  t.equal(built({ type: 'basic' }, { primary: 'u:p', secondary: null }).headers.authorization, 'Basic dTpw')
  t.equal(built({ type: 'api_key', name: 'X-Key' }).headers['x-key'], 's3')
  t.equal(
    built({ type: 'api_key', in: 'query', name: 'key' }).url,
    'https://crm.example/orders?shop=7&key=s3',
  )
  const two = built(
    { secondary: { in: 'header', name: 'X-Org', secretId: 'sec_2' } },
    { primary: 's3', secondary: 'acme' },
  )
  t.match(two.headers, { authorization: 'Bearer s3', 'x-org': 'acme' })
  t.notOk('authorization' in built({ type: 'none' }).headers)
  const connected = buildRequest({ ...REQUEST, connectionId: 'cxn_1' }, {}, { primary: 'c', secondary: null })
  t.equal(connected.headers.authorization, 'Bearer c', 'a connection alone is a bearer token')
})

t.test('an argument never repeats a parameter of the address or of a credential', async (t) => {
  const problem = (over: Partial<HttpToolRequest>, args: object) =>
    requestProblem({ ...REQUEST, method: 'GET', ...over }, { ...args })
  t.equal(problem({}, { id: 1 }), null)
  t.match(
    problem({}, { id: 1, shop: '8' }),
    /^Failed: .* already has the parameter shop\. .* Nothing was sent/,
  )
  t.equal(problem({ method: 'POST' }, { shop: '8' }), null, 'a body does not meet the query')
  const key: HttpToolAuth = { ...AUTH, type: 'api_key', in: 'query', name: 'key' }
  t.match(problem({ auth: key }, { key: 'mine' }), /already has the parameter key/)
  const secondary = { in: 'query', name: 'org', secretId: 'sec_2' } as const
  t.match(problem({ auth: { ...AUTH, secondary } }, { org: 'x' }), /already has the parameter org/)
})

t.test('a credential never becomes a header of the connection', async (t) => {
  const problem = (auth: Partial<HttpToolAuth>) =>
    requestProblem({ ...REQUEST, auth: { ...AUTH, ...auth } }, {})
  for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'two words', 'a:b', '']) {
    const told = /^Failed: the service sets a header .* Nothing was sent\.$/
    t.match(problem({ header: name }), told, name)
    t.match(problem({ type: 'api_key', name }), told, name)
    t.match(problem({ secondary: { in: 'header', name, secretId: 'sec_2' } }), told, name)
  }
  t.equal(problem({ header: 'X-Token', secondary: { in: 'header', name: 'X-Org', secretId: 's' } }), null)
  t.equal(problem({ type: 'api_key', in: 'query', name: 'host' }), null, 'a parameter may have any name')
})

t.test('the text that the model receives for a response', async (t) => {
  const receiver = await openReceiver()
  const egress = openEgress({ allowPrivate: true })
  t.teardown(async () => {
    egress.close()
    await receiver.close()
  })
  const send = () =>
    sendToolRequest({
      egress,
      organizationId: 'org_1',
      clock: systemClock,
      tool: { ...REQUEST, url: receiver.url, auth: AUTH },
      args: GIVEN,
      secrets: { primary: 'top-secret', secondary: null },
    })
  const answers: [status: number, headers: Record<string, string>, body: string | Buffer, told: RegExp][] = [
    [200, { 'content-type': 'application/json' }, '{"arrives":"tomorrow"}', /^\{"arrives":"tomorrow"\}$/],
    [201, { 'content-type': 'text/plain; charset=utf-8' }, ' नमस्ते ', /^नमस्ते$/],
    [204, {}, '', /^Done \(204\)\.$/],
    [
      200,
      { 'content-type': 'image/png' },
      Buffer.from([1, 2, 255]),
      /^Done \(200\); the answer is image\/png/,
    ],
    [404, { 'content-type': 'application/json' }, '{"error":"no such order"}', /^Failed: .* 404\. \{"error"/],
    [500, {}, 'x'.repeat(5000), /^Failed: the other system answered 500\. x{500} \.\.\. \(cut\)$/],
    [302, { location: 'http://127.0.0.1/elsewhere' }, '', /^Failed: the other system redirected \(302\)\.$/],
    [200, {}, 'y'.repeat(200_000), /^y{8000} \.\.\. \(cut\)$/],
  ]
  for (const [status, headers, body, told] of answers) {
    receiver.answer = (response) => {
      response.writeHead(status, headers)
      response.end(body)
    }
    t.match(await send(), told, `${status}`)
  }
  t.equal(receiver.received.length, answers.length, 'each was sent once, no redirect was followed')
  t.match(receiver.received[0], { method: 'POST', headers: { authorization: 'Bearer top-secret' } })
  receiver.answer = (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half of')
    response.destroy()
  }
  const broken = await send()
  t.match(broken, /^(half of \.\.\. \(cut\)|Failed: the other system could not be reached\.)$/)
})

t.test('a system that is silent, missing, or private', async (t) => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const clock = new VirtualClock()
  const open = openEgress({ allowPrivate: true })
  const closed = openEgress({ allowPrivate: false })
  t.teardown(() => {
    open.close()
    closed.close()
    silent.closeAllConnections()
    silent.close()
  })
  const send = (egress: typeof open, url: string) =>
    sendToolRequest({
      egress,
      organizationId: 'org_1',
      clock,
      tool: { ...REQUEST, url },
      args: {},
      secrets: NONE,
    })
  const waiting = send(open, `http://127.0.0.1:${port}/`)
  clock.advance(8000)
  t.match(await waiting, /^Failed: the other system did not answer in time/)
  t.match(await send(open, 'http://127.0.0.1:1/'), /^Failed: the other system could not be reached/)
  t.match(
    await send(closed, `https://127.0.0.1:${port}/`),
    /^Failed: the address of this tool may not be used/,
  )
  t.match(await send(closed, 'https://localhost/'), /^Failed: the address of this tool may not be used/)
  t.equal(clock.pending, 0)
})
