import t from 'tap'
import { DER, der, derOid, derUnsigned, membersOf, oidOf, readDer, timeOf } from './der.js'

t.test('elements are written as X.690 says, and read again', (t) => {
  const rows: readonly (readonly [Buffer, string])[] = [
    [der(DER.null), '0500'],
    [derUnsigned(Buffer.from('00', 'hex')), '020100'],
    [derUnsigned(Buffer.from('0000ff', 'hex')), '020200ff'],
    [derUnsigned(Buffer.from('7f01', 'hex')), '02027f01'],
    [derOid('2.16.840.1.101.3.4.2.1'), '0609608648016503040201'],
    [derOid('1.3.6.1.5.5.7.3.8'), '06082b06010505070308'],
    [derOid('2.999.3'), '0603883703'],
  ]
  for (const [written, hex] of rows) t.equal(written.toString('hex'), hex)
  for (const length of [0, 127, 128, 255, 256, 65_535, 65_536]) {
    const read = readDer(der(DER.octets, Buffer.alloc(length, 1)))
    t.equal(read.content.length, length)
  }
  for (const oid of ['2.16.840.1.101.3.4.2.1', '1.2.840.113549.1.9.16.1.4', '2.999.3', '0.9.1']) {
    t.equal(oidOf(readDer(derOid(oid))), oid)
  }
  const pair = readDer(der(DER.sequence, der(DER.null), derOid('2.5.4.3')))
  t.same(
    membersOf(pair).map(({ tag }) => tag),
    [DER.null, DER.oid],
  )
  t.end()
})

t.test('a GeneralizedTime may have a fraction', (t) => {
  const time = (text: string) => timeOf(readDer(der(DER.time, Buffer.from(text))))
  t.equal(time('20260302063000Z'), Date.parse('2026-03-02T06:30:00Z'))
  t.equal(time('20240229235959.5Z'), Date.parse('2024-02-29T23:59:59.500Z'))
  t.equal(time('20260302063000.123456Z'), Date.parse('2026-03-02T06:30:00.123Z'))
  for (const text of ['20260302063000', '20260302063000+0530', '20261302063000Z', 'x']) {
    t.throws(() => time(text), { name: 'DerError' }, text)
  }
  t.end()
})

t.test('what is not DER is refused', (t) => {
  const broken = ['', '30', '3002', '300201', '3080', '30850000000000', '1f0100', '050000', '3081']
  for (const hex of broken) t.throws(() => readDer(Buffer.from(hex, 'hex')), { name: 'DerError' }, hex)
  t.throws(() => membersOf(readDer(Buffer.from('300205ff', 'hex'))), { name: 'DerError' })
  t.throws(() => oidOf(readDer(der(DER.null))), { name: 'DerError' })
  t.end()
})
