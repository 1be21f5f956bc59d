import t from 'tap'
import { seeded } from '../../fixtures/host/random.js'
import { isRtcp, RtpPacket, writeRtpHeader } from './packet.js'

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

t.test('a plain packet', (t) => {
  const packet = new RtpPacket()
  t.ok(packet.parse(bytes('80 88 1234 89abcdef deadbeef d5d5d5')))
  t.equal(packet.marker, true)
  t.equal(packet.payloadType, 8)
  t.equal(packet.sequence, 0x1234)
  t.equal(packet.timestamp, 0x89abcdef)
  t.equal(packet.ssrc, 0xdeadbeef)
  t.equal(packet.payloadOffset, 12)
  t.equal(packet.payloadLength, 3)
  t.end()
})

t.test('CSRC list, header extension and padding surround the payload', (t) => {
  const packet = new RtpPacket()
  t.ok(packet.parse(bytes('b2 00 0001 00000002 00000003 0000000a 0000000b bede 0001 11223344 aabbcc 000003')))
  t.equal(packet.payloadOffset, 12 + 8 + 8)
  t.equal(packet.payloadLength, 3)
  t.equal(packet.marker, false)
  t.equal(packet.payloadType, 0)
  t.end()
})

t.test('an empty payload is a packet', (t) => {
  const packet = new RtpPacket()
  t.ok(packet.parse(bytes('80 00 0001 00000002 00000003')))
  t.equal(packet.payloadLength, 0)
  t.end()
})

for (const [what, hex] of [
  ['nothing', ''],
  ['eleven bytes', '80 00 0001 00000002 000000'],
  ['version 1', '40 00 0001 00000002 00000003'],
  ['STUN', '0001 0000 2112a442 000102030405060708090a0b'],
  ['CSRC beyond the end', '81 00 0001 00000002 00000003'],
  ['extension header beyond the end', '90 00 0001 00000002 00000003 be'],
  ['extension body beyond the end', '90 00 0001 00000002 00000003 bede 0001 1122'],
  ['padding longer than the payload', 'a0 00 0001 00000002 00000003 aabb 04'],
  ['padding of zero', 'a0 00 0001 00000002 00000003 aabb 00'],
] as const) {
  t.test(`rejected: ${what}`, (t) => {
    t.equal(new RtpPacket().parse(bytes(hex)), false)
    t.end()
  })
}

t.test('written data is parsed back', (t) => {
  const buffer = new Uint8Array(15).fill(0x55)
  writeRtpHeader(buffer, 101, true, 0xffff, 0xfffffff0, 0x80000001)
  t.equal(Buffer.from(buffer).toString('hex'), '80e5fffffffffff080000001555555')
  const packet = new RtpPacket()
  t.ok(packet.parse(buffer))
  t.match(packet, {
    marker: true,
    payloadType: 101,
    sequence: 0xffff,
    timestamp: 0xfffffff0,
    ssrc: 0x80000001,
  })
  writeRtpHeader(buffer, 0, false, 0x10000 + 5, 2 ** 32 + 7, 1)
  t.ok(packet.parse(buffer))
  t.match(packet, { marker: false, payloadType: 0, sequence: 5, timestamp: 7, ssrc: 1 })
  t.end()
})

t.test('RTCP on the same port is recognised', (t) => {
  t.equal(isRtcp(bytes('80 c8 0006 deadbeef')), true) // sender report
  t.equal(isRtcp(bytes('81 cb 0001 deadbeef')), true) // bye
  t.equal(isRtcp(bytes('80 88 0006 deadbeef')), false) // PCMA with marker
  t.equal(isRtcp(bytes('80 e5 0006 deadbeef')), false) // payload type 101 with marker
  t.equal(isRtcp(bytes('80 c8 00')), false)
  t.end()
})

t.test('random bytes never throw, and what is accepted lies within the datagram', (t) => {
  const random = seeded(7)
  const packet = new RtpPacket()
  let accepted = 0
  for (let round = 0; round < 50_000; round++) {
    const data = new Uint8Array(Math.floor(random.next() * 60))
    for (let i = 0; i < data.length; i++) data[i] = Math.floor(random.next() * 256)
    if (round % 2 === 0 && data.length > 0) data[0] = 0x80 | ((data[0] as number) & 0x3f)
    isRtcp(data)
    if (!packet.parse(data)) continue
    accepted++
    if (packet.payloadOffset + packet.payloadLength > data.length || packet.payloadLength < 0) {
      t.fail(`payload outside of ${Buffer.from(data).toString('hex')}`)
    }
  }
  t.ok(accepted > 1000)
  t.end()
})
