import t from 'tap'
import { mutatedBytes } from '../../fixtures/fuzz/mutation.js'
import { seeded } from '../../fixtures/host/random.js'
import { oddities } from '../../fixtures/oddities/cases.js'
import { parseSdp } from '../sdp/sdp-parser.js'
import { headerParameter, headerValue, parseMultipart } from './multipart.js'
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

t.test('many parts and many header lines are refused', async (t) => {
  const part = (count: number) => '--b\r\n\r\nx\r\n'.repeat(count)
  t.equal(parseMultipart('multipart/mixed;boundary=b', part(64))?.length, 64)
  t.equal(parseMultipart('multipart/mixed;boundary=b', part(65)), null)
  const sdp = 'Content-Type: application/sdp\r\n'
  for (const line of ['a: b\r\n', ' b\r\n']) {
    const body = (lines: number) => `--b\r\n${sdp}${line.repeat(lines - 1)}\r\nv=0`
    t.match(parseMultipart('multipart/mixed;boundary=b', body(64)), [{ body: 'v=0' }])
    t.equal(parseMultipart('multipart/mixed;boundary=b', body(65)), null)
    const refusal = { ok: false, status: 400, headers: {} }
    t.strictSame(readSessionBody(message('multipart/mixed;boundary=b', body(65))), refusal)
    t.equal(sessionSdpOf(message('multipart/mixed;boundary=b', body(65))), '')
  }
  t.equal(parseMultipart('multipart/mixed;boundary=b', '--b'.repeat(20_000)), null)
})

t.test('of a header with many parameters the first 64 are read', async (t) => {
  const header = (before: number) => `text/plain${';a'.repeat(before)};name=x${';b'.repeat(9000)}`
  t.equal(headerParameter(header(63), 'name'), 'x')
  t.equal(headerParameter(header(64), 'name'), null)
  t.equal(headerValue(header(64)), 'text/plain')
})

t.test('quoted-printable octets are UTF-8, and text without two digits stays', async (t) => {
  const body =
    '--b\nContent-Transfer-Encoding: quoted-printable\n\n=e0=A4=\n=A8 = =3 =3g =3D=\r\n3D é=\n--b--'
  t.match(parseMultipart('multipart/mixed;boundary=b', body), [{ body: 'न = =3 =3g =3D é=' }])
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
