import t from 'tap'
import { mutatedBytes } from '../../fixtures/fuzz/mutation.js'
import { seeded } from '../../fixtures/host/random.js'
import { oddities } from '../../fixtures/oddities/cases.js'
import { parseSdp } from '../sdp/sdp-parser.js'
import { parseMultipart } from './multipart.js'
import { readSessionBody, sessionSdpOf } from './session-body.js'

function message(type: string, body: string, disposition = '') {
  const headers: Readonly<Record<string, string>> = {
    'Content-Type': type,
    'Content-Disposition': disposition,
  }
  return { body, get: (name: string) => headers[name] || undefined }
}

for (const { name, about, fields, text } of oddities('bodies')) {
  t.test(`${name}: ${about}`, async (t) => {
    const one = message(fields.get('content-type') ?? '', text, fields.get('disposition'))
    const read = readSessionBody(one)
    const right = fields.get('right')
    if (right === 'sdp') {
      t.match(read, { ok: true })
      const parsed = parseSdp(sessionSdpOf(one))
      t.match(parsed, { ok: true, media: [{ type: 'audio', port: 30_000, formats: ['8'] }] })
      t.equal(parsed.ok && parsed.media.length, 1)
      t.equal(read.ok && read.sdp, sessionSdpOf(one))
    } else if (right === 'none') t.strictSame([read, sessionSdpOf(one)], [{ ok: true, sdp: '' }, ''])
    else {
      t.match(read, { ok: false, status: Number(right) })
      if (right === '415') t.match(read, { headers: { Accept: 'application/sdp, multipart/mixed' } })
    }
  })
}

t.test('an encoding that is not understood', async (t) => {
  const body = { body: 'x', get: (name: string) => (name === 'Content-Encoding' ? 'gzip' : undefined) }
  t.strictSame(readSessionBody(body), { ok: false, status: 415, headers: { 'Accept-Encoding': 'identity' } })
})

t.test('many parts are refused, and many headers are read', async (t) => {
  const part = (count: number) => '--b\r\n\r\nx\r\n'.repeat(count)
  t.equal(parseMultipart('multipart/mixed;boundary=b', part(64))?.length, 64)
  t.equal(parseMultipart('multipart/mixed;boundary=b', part(66)), null)
  const headers = parseMultipart('multipart/mixed;boundary=b', `--b\r\n${'a: b\r\n'.repeat(9000)}\r\nv=0`)
  t.match(headers, [{ body: 'v=0' }])
  t.equal(parseMultipart('multipart/mixed;boundary=b', '--b'.repeat(20_000)), null)
})

t.test('almost valid bodies are answered, and nothing is taken for SDP that is none', async (t) => {
  const random = seeded(7)
  let found = 0
  for (const { fields, text } of oddities('bodies')) {
    const type = fields.get('content-type') ?? ''
    const whole = Buffer.from(`${type}\n${text}`, 'latin1')
    for (let round = 0; round < 150; round++) {
      const changed = mutatedBytes(random, whole).toString('latin1')
      const end = changed.indexOf('\n')
      const read = readSessionBody(message(changed.slice(0, Math.max(end, 0)), changed.slice(end + 1)))
      if (!read.ok) t.ok(read.status === 400 || read.status === 415)
      else if (read.sdp !== '' && parseSdp(read.sdp).ok) found++
    }
  }
  t.ok(found > 500, `${found} descriptions survive`)
})
