import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { seeded } from '../../../fixtures/host/random.js'
import { writeRtpHeader } from '../packet.js'
import { ReceptionStatistics } from '../receive/reception.js'
import { isValidRtcp, type RtcpListener, readRtcp } from './parser.js'
import { RtcpSession } from './session.js'
import { writeBye, writeCname, writeReport } from './writer.js'

function listening(): { readonly reported: object[]; readonly listener: RtcpListener } {
  const reported: object[] = []
  return {
    reported,
    listener: {
      onSenderReport: (info) => reported.push({ sr: info }),
      onReceptionReport: (report) => reported.push({ report }),
      onBye: (ssrc) => reported.push({ bye: ssrc }),
    },
  }
}

/** A compound packet in the layout of the RFC, written by hand. */
const COMPOUND = Buffer.from(
  [
    '81c8000c 11223344 e5a1b2c3 d4e5f607 00010203 00000064 00003e80', // SR: 100 packets, 16000 bytes
    '55667788 40fffffe 0001ffee 00000050 b2c3d4e5 00010000', // a quarter lost, -2 in all
    '81ca0003 11223344 0103612e 62000000', // SDES, CNAME "a.b"
    '80cc0002 11223344 4e414d45', // APP
    '81cf0001 11223344', // XR without blocks
    '82cb0002 11223344 99aabbcc', // BYE of two
  ]
    .join('')
    .replaceAll(' ', ''),
  'hex',
)

t.test('a compound packet is parsed, and unknown blocks are skipped', async (t) => {
  const { reported, listener } = listening()
  t.ok(readRtcp(COMPOUND, listener))
  t.strictSame(reported, [
    { sr: { ssrc: 0x11223344, ntpMiddle: 0xb2c3d4e5, packets: 100, octets: 16_000 } },
    {
      report: {
        reporter: 0x11223344,
        ssrc: 0x55667788,
        fractionLost: 64,
        lost: -2,
        highestSequence: 0x1ffee,
        jitter: 80,
        lastReport: 0xb2c3d4e5,
        delaySinceLastReport: 65_536,
      },
    },
    { bye: 0x11223344 },
    { bye: 0x99aabbcc },
  ])
})

t.test('every length is checked, and a bad packet reports nothing', async (t) => {
  const { reported, listener } = listening()
  for (let length = 0; length < COMPOUND.length; length++) {
    const cut = COMPOUND.subarray(0, length)
    // Cut between two blocks it is a valid shorter packet.
    if ([52, 68, 80, 88].includes(length)) t.ok(isValidRtcp(cut), `${length}`)
    else t.notOk(readRtcp(cut, listener), `${length}`)
  }
  const bad = (text: string) =>
    t.notOk(readRtcp(Buffer.from(text.replaceAll(' ', ''), 'hex'), listener), text)
  bad('41c90001 11223344') // version 1
  bad('80900001 11223344') // not an RTCP packet type
  bad('81c90001 11223344') // counts a missing report
  bad('83cb0002 11223344 11223344')
  bad('a0c90002 11223344 00000005') // padding that is not a multiple of four
  bad('a0c90001 11223300') // zero padding
  bad('a0c90002 11223344 0000000c') // more padding than bytes
  bad('a0c90002 11223344 00000004 80c90001 11223344') // padding before the last block
  t.strictSame(reported, [])
  t.ok(readRtcp(Buffer.from('a0c900021122334400000004', 'hex'), listener), 'padded')
  t.ok(readRtcp(Buffer.from('80cd000211223344 55667788'.replace(' ', ''), 'hex'), listener), 'reduced size')
})

t.test('fuzzed packets never throw', async (t) => {
  const random = seeded(7)
  const { listener } = listening()
  let valid = 0
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(COMPOUND.subarray(0, Math.floor(random.between(0, COMPOUND.length + 1))))
    for (let n = Math.floor(random.between(0, 4)); n > 0 && bytes.length > 0; n--) {
      bytes[Math.floor(random.between(0, bytes.length))] = Math.floor(random.between(0, 256))
    }
    if (readRtcp(bytes, listener)) valid++
  }
  t.ok(valid > 0 && valid < 20_000, `${valid} were still valid`)
})

t.test('written data is parsed back', async (t) => {
  const into = Buffer.alloc(256)
  const report = {
    ssrc: 2,
    fractionLost: 255,
    lost: 9_000_000,
    highestSequence: 70_000,
    jitter: 3,
    lastReport: 4,
    delaySinceLastReport: 5,
  }
  const sent = { ntpSeconds: 0xe5a1b2c3, ntpFraction: 0xd4e5f607, timestamp: 9, packets: 10, octets: 11 }
  for (const name of ['a', 'ab', 'abc', 'abcd', 'abcdefghij']) {
    let at = writeReport(into, 0, 1, sent, report)
    at = writeCname(into, at, 1, Buffer.from(name))
    at = writeBye(into, at, 1)
    const { reported, listener } = listening()
    t.ok(readRtcp(into.subarray(0, at), listener), name)
    t.match(reported, [
      { sr: { ssrc: 1, ntpMiddle: 0xb2c3d4e5, packets: 10, octets: 11 } },
      { report: { ...report, lost: 0x7fffff } },
      { bye: 1 },
    ])
  }
  const { reported, listener } = listening()
  t.ok(readRtcp(into.subarray(0, writeReport(into, 0, 7, null, null)), listener))
  t.strictSame(reported, [], 'an empty RR')
})

/** Two sessions that exchange reports over a network with this delay. */
function pair(random: () => number = () => 0.5) {
  const clock = new VirtualClock({ nowMs: 5000 })
  const end = (ssrc: number) => {
    const reception = new ReceptionStatistics()
    return { ssrc, reception, rtcp: new RtcpSession(clock, ssrc, reception, Buffer.from('x'), random) }
  }
  return { clock, a: end(1), b: end(2) }
}

type End = ReturnType<typeof pair>['a']

function rtp(from: End, to: End, sequence: number, nowMs: number): void {
  const packet = Buffer.alloc(172)
  writeRtpHeader(packet, 8, false, sequence & 0xffff, sequence * 160, from.ssrc)
  from.rtcp.packetSent(packet, 160, nowMs)
  to.reception.packet(from.ssrc, sequence & 0xffff)
}

t.test(
  'the first report follows half an interval, later ones whole intervals, never two together',
  async (t) => {
    for (const draw of [0, 0.5, 0.999]) {
      const { clock, a, b } = pair(() => draw)
      const at: number[] = []
      for (let i = 0; i < 1500; i++) {
        rtp(a, b, i, clock.now())
        if (a.rtcp.tick(clock.now()) !== null) at.push(clock.now() - 5000)
        clock.advance(20)
      }
      const interval = (5000 * (0.5 + draw)) / (Math.E - 1.5)
      t.ok(Math.abs((at[0] ?? 0) - interval / 2) <= 20, `first after ${at[0]} ms`)
      const gaps = at.slice(1).map((ms, i) => ms - (at[i] ?? 0))
      t.ok(
        gaps.every((gap) => gap >= interval && gap <= interval + 40),
        gaps.join(' '),
      )
    }
  },
)

t.test('without packets nothing is reported', async (t) => {
  const { clock, a } = pair()
  for (let i = 0; i < 1000; i++) {
    t.equal(a.rtcp.tick(clock.now()), null)
    clock.advance(20)
  }
  t.equal(a.rtcp.bye(clock.now()), null)
})

t.test('round-trip time, loss and jitter reach the sender', async (t) => {
  const { clock, a, b } = pair()
  const WAY_MS = 35
  const flying: { readonly at: number; readonly to: End; readonly bytes: Buffer }[] = []
  for (let i = 0; i < 1500; i++) {
    const now = clock.now()
    // Every fourth packet of a is lost, none of b.
    if (i % 4 === 3) a.rtcp.packetSent(Buffer.alloc(172), 160, now)
    else rtp(a, b, i, now)
    rtp(b, a, i, now)
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const reports = from.rtcp.tick(now)
      if (reports !== null) flying.push({ at: now + WAY_MS, to, bytes: Buffer.from(reports) })
    }
    clock.advance(10)
    for (const { to, bytes } of flying
      .splice(0)
      .filter((one) => one.at <= clock.now() || !flying.push(one))) {
      t.ok(to.rtcp.receive(bytes, clock.now()))
    }
    clock.advance(10)
  }
  t.ok(Math.abs((a.rtcp.rttMs ?? 0) - 100) <= 1, `round trip ${a.rtcp.rttMs} ms: 50 each way, by steps of 20`)
  t.ok(Math.abs((b.rtcp.rttMs ?? 0) - 100) <= 1)
  t.ok(Math.abs((a.rtcp.remoteReport?.recentLoss ?? 0) - 0.25) < 0.01)
  t.ok(Math.abs((a.rtcp.remoteReport?.loss ?? 0) - 0.25) < 0.01, `loss ${a.rtcp.remoteReport?.loss}`)
  t.equal(b.rtcp.remoteReport?.loss, 0)
  t.equal(b.rtcp.remoteReport?.jitterMs, 0)
})

t.test('a leg that only receives sends receiver reports; a BYE ends it', async (t) => {
  const { clock, a, b } = pair()
  for (let i = 0; i < 300; i++) {
    rtp(a, b, i, clock.now())
    clock.advance(20)
    b.rtcp.tick(clock.now())
  }
  const { reported, listener } = listening()
  const last = b.rtcp.bye(clock.now())
  t.ok(last !== null && readRtcp(last, listener))
  t.match(reported, [{ report: { reporter: 2, ssrc: 1, highestSequence: 299 } }, { bye: 2 }])
})

t.test('implausible round-trip times are ignored', async (t) => {
  const { clock, a, b } = pair()
  rtp(a, b, 0, clock.now())
  const into = Buffer.alloc(100)
  const claim = (lastReport: number, delaySinceLastReport: number) => {
    const report = { ssrc: 1, fractionLost: 0, lost: 0, highestSequence: 0, jitter: 0 }
    const end = writeReport(into, 0, 2, null, { ...report, lastReport, delaySinceLastReport })
    t.ok(a.rtcp.receive(into.subarray(0, end), clock.now()))
  }
  claim(1, 0)
  claim(0xffffffff, 0xffffffff)
  t.equal(a.rtcp.rttMs, null)
})
