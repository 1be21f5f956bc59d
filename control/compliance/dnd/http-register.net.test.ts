import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { silentLog } from '../../../media/base/log.js'
import { dndFile } from '../../config/dnd-file.js'
import { httpRegister } from './http-register.js'

const NUMBER = '+919876543210'
const FILE = {
  name: 'operator-dlt',
  request: {
    method: 'POST',
    url: 'http://127.0.0.1:1/scrub?circle=all',
    headers: { authorization: 'Bearer secret' },
    body: { peId: '{peId}', mode: 'voice', purpose: '{purpose}', numbers: ['{national}'] },
  },
  answer: {
    state: 'results.0.status',
    listed: ['BLOCKED'],
    notListed: ['ALLOWED'],
    number: 'results.0.number',
    category: 'results.0.reason',
    reference: 'scrubId',
    validUntil: 'validTill',
  },
}

type Reply = (request: IncomingMessage, body: string, response: ServerResponse) => void

t.test('a register over HTTP', async (t) => {
  let reply: Reply = () => {}
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => reply(request, body, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = mkdtempSync(join(tmpdir(), 'parley-dnd-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const parse = (file: object) => {
    writeFileSync(join(folder, 'dnd.json'), JSON.stringify(file))
    return dndFile(folder)('dnd.json')
  }
  const clock = new VirtualClock()
  const open = (file: object = FILE) => {
    const parsed = parse(file)
    if (!parsed.ok) throw new Error(parsed.fix)
    const { request } = parsed.value
    const url = request.url.replace('http://127.0.0.1:1', origin)
    return httpRegister({ ...parsed.value, request: { ...request, url } }, clock, silentLog)
  }
  const ask = (register = open(), peId: string | null = '110') =>
    register.lookUp({ e164: NUMBER, purpose: 'promotional', peId, at: clock.wall() })
  const json =
    (value: unknown, status = 200): Reply =>
    (_request, _body, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  const result = (row: object, rest: object = {}) =>
    json({ scrubId: 'S-77', results: [{ number: '919876543210', ...row }], ...rest })

  await t.test('sends what the file says and reads the answer', async (t) => {
    reply = (request, body, response) => {
      t.match(request, {
        method: 'POST',
        url: '/scrub?circle=all',
        headers: { authorization: 'Bearer secret' },
      })
      t.same(JSON.parse(body), {
        peId: '110',
        mode: 'voice',
        purpose: 'promotional',
        numbers: ['9876543210'],
      })
      result({ status: 'BLOCKED', reason: 'category 1' }, { validTill: '2026-11-23T18:30:00+05:30' })(
        request,
        body,
        response,
      )
    }
    t.same(await ask(), {
      state: 'listed',
      category: 'category 1',
      reference: 'S-77',
      validUntil: Date.parse('2026-11-23T13:00:00Z'),
    })
    reply = result({ status: 'ALLOWED' }, { validTill: '23/11/2026' })
    t.same(await ask(), { state: 'not_listed', category: null, reference: 'S-77', validUntil: null })
  })

  await t.test('a number in the address', async (t) => {
    const request = { method: 'GET', url: 'http://127.0.0.1:1/numbers/{e164}.json' }
    const answer = { state: 'Numbers.DND', listed: ['Yes', true], notListed: ['No', false] }
    reply = (request, body, response) => {
      t.match(request, { method: 'GET', url: '/numbers/%2B919876543210.json' })
      t.equal(body, '')
      json({ Numbers: { DND: false } })(request, body, response)
    }
    t.match(await ask(open({ name: 'metadata', request, answer }), null), { state: 'not_listed' })
  })

  await t.test('any other answer is unknown', async (t) => {
    const raw =
      (text: string, status = 200): Reply =>
      (_request, _body, response) =>
        response.writeHead(status).end(text)
    const replies: Record<string, Reply> = {
      'another word': result({ status: 'PENDING' }),
      'a word of another type': result({ status: ['BLOCKED'] }),
      'another number': json({ results: [{ number: '919876543211', status: 'ALLOWED' }] }),
      'no number': json({ results: [{ status: 'ALLOWED' }] }),
      'no result': json({ results: [] }),
      'a member of the prototype': json({ results: 'constructor' }),
      'a refusal with a result': json({ results: [{ number: '919876543210', status: 'ALLOWED' }] }, 403),
      'a redirect': (_request, _body, response) => response.writeHead(302, { location: '/other' }).end(),
      'a page': raw('<html>ALLOWED</html>'),
      'an empty body': raw(''),
      'no end': raw('{"results":[{"number":"919876543210","status":"ALLOWED"}'),
      'a long body': raw(`{"results":[{"status":"ALLOWED","x":"${'x'.repeat(3_000_000)}"}]}`),
      'a cut connection': (request) => request.socket.destroy(),
      'no answer in time': () => {},
    }
    for (const [name, each] of Object.entries(replies)) {
      reply = each
      t.same(
        await ask(open({ ...FILE, timeoutMs: name === 'no answer in time' ? 100 : 10_000 })),
        { state: 'unknown' },
        name,
      )
    }
    const before = asked
    t.same(
      await ask(open(), null),
      { state: 'unknown' },
      'the request needs an id that the organization lacks',
    )
    t.equal(asked, before)
  })

  await t.test('a service that fails rests for half a minute', async (t) => {
    const register = open()
    reply = json({}, 503)
    for (let i = 0; i < 5; i++) await ask(register)
    const before = asked
    reply = result({ status: 'ALLOWED' })
    t.same(await ask(register), { state: 'unknown' })
    t.equal(asked, before, 'it is not asked')
    clock.advance(30_000)
    t.match(await ask(register), { state: 'not_listed' })
  })

  await t.test('wrong files are named', async (t) => {
    const { request, answer } = FILE
    const wrong: [object, RegExp][] = [
      [{ ...FILE, name: 'A B' }, /correct name/],
      [{ ...FILE, feePaise: 1.5 }, /correct feePaise/],
      [{ ...FILE, request: { ...request, url: 'ftp://x/{e164}' } }, /correct request\.url/],
      [{ ...FILE, request: { ...request, url: 'https://{e164}/' } }, /correct request\.url/],
      [{ ...FILE, request: { ...request, body: { to: '{phone}' } } }, /request\.(url|body)/],
      [{ ...FILE, request: { ...request, body: { to: 'x' } } }, /must name the number/],
      [{ ...FILE, request: { ...request, method: 'GET' } }, /GET request has no body/],
      [{ ...FILE, answer: { ...answer, notListed: ['BLOCKED'] } }, /correct answer\.notListed/],
      [{ ...FILE, answer: { ...answer, state: 'a..b' } }, /correct answer\.state/],
      [{ ...FILE, more: 1 }, /correct/],
    ]
    for (const [file, pattern] of wrong) {
      const parsed = parse(file)
      t.match(parsed, { ok: false, fix: pattern })
    }
    t.match(dndFile(folder)('missing.json'), { ok: false })
  })
})
