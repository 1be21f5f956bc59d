import { randomBytes } from 'node:crypto'
import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { writeRtpHeader } from '../packet.js'
import { SRTP_SUITES } from './key-derivation.js'
import type { SrtpKey, SrtpSuiteName } from './keying.js'
import { FORGED, MALFORMED, REPLAYED, SrtpReceiver, SrtpSender } from './srtp.js'
import { MAX_SRTP_OVERHEAD } from './transform.js'

const NAMES = Object.keys(SRTP_SUITES) as SrtpSuiteName[]
const SSRC = 0xfeedbeef

function keyOf(name: SrtpSuiteName, mki: Uint8Array | null = null): SrtpKey {
  const { keyBytes, saltBytes } = SRTP_SUITES[name]
  return { keyAndSalt: randomBytes(keyBytes + saltBytes), mki }
}

function plain(sequence: number, ssrc = SSRC, bytes = 160): Buffer {
  const packet = Buffer.alloc(12 + bytes, sequence & 0xff)
  writeRtpHeader(packet, 8, false, sequence & 0xffff, (sequence * 160) >>> 0, ssrc)
  return packet
}

function sealed(out: SrtpSender, packet: Uint8Array): Buffer {
  const buffer = Buffer.alloc(packet.length + MAX_SRTP_OVERHEAD)
  buffer.set(packet)
  return buffer.subarray(0, out.protectRtp(buffer, packet.length))
}

const open = (into: SrtpReceiver, packet: Buffer) => into.unprotectRtp(Buffer.from(packet), packet.length)

for (const name of NAMES) {
  t.test(
    `${name}: protected packets are unprotected over two roll-overs of the sequence number`,
    async (t) => {
      const key = keyOf(name)
      const out = new SrtpSender(name, key)
      const into = new SrtpReceiver(name, key)
      const { tagBytes } = SRTP_SUITES[name]
      let wrong = 0
      for (let i = 0; i < 2 * 65_536 + 100; i += 31) {
        const packet = plain(65_000 + i)
        const wire = sealed(out, packet)
        if (wire.length !== packet.length + tagBytes || wire.subarray(12, 172).equals(packet.subarray(12)))
          wrong++
        const length = into.unprotectRtp(wire, wire.length)
        if (length !== packet.length || !wire.subarray(0, length).equals(packet)) wrong++
      }
      t.equal(wrong, 0)
    },
  )

  t.test(`${name}: reordered around a roll-over, replayed, late and forged packets`, async (t) => {
    const key = keyOf(name)
    const out = new SrtpSender(name, key)
    const into = new SrtpReceiver(name, key)
    const wire = Array.from({ length: 400 }, (_, i) => sealed(out, plain(65_400 + i)))
    const at = (i: number) => wire[i] as Buffer
    t.equal(open(into, at(0)), 172)
    t.equal(open(into, at(140)), 172, 'sequence number 4 after 65400')
    t.equal(open(into, at(130)), 172, 'and 65530 after it: one roll-over back')
    t.equal(open(into, at(140)), REPLAYED)
    t.equal(open(into, at(130)), REPLAYED)
    t.equal(open(into, at(0)), REPLAYED, 'older than the window')
    t.equal(open(into, at(13)), 172, '127 behind is within it')
    t.equal(open(into, at(12)), REPLAYED)
    const forged = Buffer.from(at(141))
    forged[50] = (forged[50] as number) ^ 1
    t.equal(open(into, forged), FORGED)
    t.equal(open(into, at(141)), 172, 'a forged one does not use up the number of the genuine one')
    // A forged header must not move the roll-over counter either.
    const ahead = Buffer.from(at(142))
    ahead.writeUInt16BE(20_000, 2)
    t.equal(open(into, ahead), FORGED)
    t.equal(open(into, at(142)), 172)
    t.equal(open(into, Buffer.alloc(11)), MALFORMED)
    t.equal(open(into, at(150).subarray(0, 20)), FORGED)
  })

  t.test(`${name}: SRTCP with its index and replay window`, async (t) => {
    const key = keyOf(name)
    const out = new SrtpSender(name, key)
    const into = new SrtpReceiver(name, key)
    const report = Buffer.from(`81c90001${SSRC.toString(16)}`.padEnd(64, '0'), 'hex')
    const send = () => {
      const buffer = Buffer.alloc(report.length + MAX_SRTP_OVERHEAD)
      buffer.set(report)
      return buffer.subarray(0, out.protectRtcp(buffer, report.length))
    }
    const first = send()
    const second = send()
    t.notOk(first.equals(second))
    t.notOk(first.subarray(8, 32).equals(report.subarray(8)))
    const take = (packet: Buffer) => into.unprotectRtcp(Buffer.from(packet), packet.length)
    t.equal(take(second), report.length)
    t.equal(take(first), report.length)
    t.equal(take(first), REPLAYED)
    const forged = send()
    forged[9] = (forged[9] as number) ^ 1
    t.equal(take(forged), FORGED)
    t.equal(take(forged.subarray(0, 13)), MALFORMED)
    const last = send()
    t.equal(into.unprotectRtcp(last, last.length), report.length)
    t.same(last.subarray(0, report.length), report)
  })

  t.test(
    `${name}: header extension and CSRC stay readable, a master key identifier is checked`,
    async (t) => {
      const key = keyOf(name, Buffer.from('0badcafe', 'hex'))
      const out = new SrtpSender(name, key)
      const into = new SrtpReceiver(name, key)
      const packet = plain(7)
      packet[0] = 0x91
      packet.set([0xbe, 0xde, 0x00, 0x01], 16)
      const wire = sealed(out, packet)
      t.equal(wire.length, 172 + 4 + SRTP_SUITES[name].tagBytes)
      t.same(wire.subarray(0, 24), packet.subarray(0, 24))
      t.notOk(wire.subarray(24, 172).equals(packet.subarray(24)))
      const other = new SrtpReceiver(name, { ...key, mki: Buffer.from('0badcaff', 'hex') })
      t.equal(open(other, wire), FORGED)
      t.equal(open(into, wire), 172)
    },
  )
}

t.test('many streams under one key: each has its own roll-over counter, memory is bounded', async (t) => {
  const name = 'AES_CM_128_HMAC_SHA1_80'
  const key = keyOf(name)
  const into = new SrtpReceiver(name, key)
  for (let i = 0; i < 100; i++) {
    const out = new SrtpSender(name, key)
    for (const sequence of [65_534, 65_535, 65_536, 65_537]) {
      t.equal(open(into, sealed(out, plain(sequence, 1000 + i))), 172)
    }
  }
})

t.test('random bytes are never accepted and never throw', async (t) => {
  const random = seeded(20)
  for (const name of NAMES) {
    const key = keyOf(name)
    const out = new SrtpSender(name, key)
    const into = new SrtpReceiver(name, key)
    let taken = 0
    for (let i = 0; i < 2000; i++) {
      const wire = sealed(out, plain(i, SSRC, Math.floor(random.between(0, 400))))
      const cut = wire.subarray(0, Math.floor(random.between(0, wire.length + 1)))
      const bytes = Buffer.from(random.next() < 0.5 ? cut : wire)
      const where = Math.floor(random.between(0, bytes.length))
      if (bytes.length > 0) bytes[where] = (bytes[where] as number) ^ (1 << Math.floor(random.between(0, 8)))
      if (into.unprotectRtp(Buffer.from(bytes), bytes.length) >= 0) taken++
      if (into.unprotectRtcp(Buffer.from(bytes), bytes.length) >= 0) taken++
    }
    t.equal(taken, 0, name)
  }
})
