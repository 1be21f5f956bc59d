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
  const ask = async (register = open(), peId: string | null = '110') => {
    const question = { e164s: [NUMBER], purpose: 'promotional', peId, at: clock.wall() }
    return (await register.lookUp(question)).get(NUMBER) ?? 'unknown'
  }
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
        'unknown',
        name,
      )
    }
    const before = asked
    t.same(await ask(open(), null), 'unknown', 'the request needs an id that the organization lacks')
    t.equal(asked, before)
  })

  await t.test('many numbers in a request', async (t) => {
    const [one, two, three] = [NUMBER, '+919876543211', '+919876543212'] as const
    const many = {
      ...FILE,
      request: {
        ...FILE.request,
        body: { peId: '{peId}', rows: [{ msisdn: '{national}', p: '{purpose}' }] },
      },
      answer: {
        ...{ results: 'data.rows', state: 'status', number: 'msisdn', category: 'reason' },
        ...{ listed: ['BLOCKED'], notListed: ['ALLOWED'], reference: 'scrubId', validUntil: 'validTill' },
      },
      maxNumbers: 500,
    }
    const register = open(many)
    t.equal(register.maxNumbers, 500)
    reply = (request, body, response) => {
      t.same(JSON.parse(body), {
        peId: '110',
        rows: ['9876543210', '9876543211', '9876543212'].map((msisdn) => ({ msisdn, p: 'promotional' })),
      })
      const rows = [
        { msisdn: '919876543211', status: 'ALLOWED' },
        { msisdn: '919876543210', status: 'BLOCKED', reason: 'full' },
        { msisdn: '919876543210', status: 'ALLOWED' },
        { msisdn: '919876543212', status: 'PENDING' },
        { msisdn: '919876543299', status: 'ALLOWED' },
        { status: 'ALLOWED' },
        null,
      ]
      json({ scrubId: 'S-78', validTill: '2026-11-23T18:30:00+05:30', data: { rows } })(
        request,
        body,
        response,
      )
    }
    const question = { e164s: [one, two, three], purpose: 'promotional', peId: '110', at: clock.wall() }
    const answers = await register.lookUp(question)
    const shared = { reference: 'S-78', validUntil: Date.parse('2026-11-23T13:00:00Z') }
    t.same(
      [...answers].toSorted(),
      [
        [one, { state: 'listed', category: 'full', ...shared }],
        [two, { state: 'not_listed', category: null, ...shared }],
      ],
      'a number that occurs twice is listed, the third one is unknown, and nobody asked about the others',
    )
    reply = json({ data: { rows: 'none' } })
    t.equal((await register.lookUp(question)).size, 0)
  })

  await t.test('an answer in XML', async (t) => {
    const request = { method: 'GET', url: 'http://127.0.0.1:1/v1/Accounts/parley1/Numbers/{e164}' }
    const answer = {
      ...{ format: 'xml', state: 'TwilioResponse.Numbers.DND' },
      ...{ listed: ['Yes'], notListed: ['No'], category: 'TwilioResponse.Numbers.Type' },
    }
    const register = open({ name: 'metadata', request, answer })
    const xml =
      (dnd: string): Reply =>
      (request, _body, response) => {
        t.match(request.headers, { accept: 'application/xml, text/xml' })
        response.writeHead(200, { 'content-type': 'application/xml' }).end(
          `<?xml version="1.0" encoding="UTF-8"?><TwilioResponse><Numbers><PhoneNumber>0XXXXXX3210</PhoneNumber>
           <Circle>DL</Circle><Type>Mobile</Type>${dnd}</Numbers></TwilioResponse>`,
        )
      }
    reply = xml('<DND>Yes</DND>')
    t.match(await ask(register), { state: 'listed', category: 'Mobile' })
    reply = xml('<DND>No</DND>')
    t.match(await ask(register), { state: 'not_listed' })
    for (const wrong of ['<DND/>', '<DND>No', '<DND>No</DND><DND>Yes</DND>', '']) {
      reply = xml(wrong)
      t.equal(await ask(register), 'unknown', wrong)
    }
    const rows = { ...answer, results: 'r.n', state: 'dnd', number: 'id', category: 'type' }
    const listed = open({ name: 'rows', request, answer: rows })
    reply = (_request, _body, response) => response.end('<r><n><id>919876543210</id><dnd>No</dnd></n></r>')
    t.match(await ask(listed), { state: 'not_listed' }, 'a single row')
  })

  await t.test('a service that fails rests for half a minute', async (t) => {
    const register = open()
    reply = json({}, 503)
    for (let i = 0; i < 5; i++) await ask(register)
    const before = asked
    reply = result({ status: 'ALLOWED' })
    t.same(await ask(register), 'unknown')
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
      [{ ...FILE, answer: { ...answer, format: 'csv' } }, /correct answer\.format/],
      [{ ...FILE, answer: { ...answer, results: 'rows', number: undefined } }, /correct answer\.number/],
      [{ ...FILE, maxNumbers: 100 }, /correct answer\.results/],
      [
        {
          ...FILE,
          maxNumbers: 100,
          answer: { ...answer, results: 'rows' },
          request: { ...request, body: { to: '{e164}' } },
        },
        /correct request\.body: must have one array/,
      ],
      [{ ...FILE, maxNumbers: 1001 }, /correct maxNumbers/],
      [{ ...FILE, more: 1 }, /correct/],
    ]
    for (const [file, pattern] of wrong) {
      const parsed = parse(file)
      t.match(parsed, { ok: false, fix: pattern })
    }
    t.match(dndFile(folder)('missing.json'), { ok: false })
  })
})
