import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { dissect, type Seen, tsharkInstalled } from '../../fixtures/rtp/tshark.js'
import { silentLog } from '../base/log.js'
import { openRtpEndpoint, type RtpEndpoint } from './endpoint.js'
import { writeRtpHeader } from './packet.js'
import { RtpPorts } from './port.js'
import type { RtpRemote } from './remote-description.js'
import { isValidRtcp } from './rtcp/parser.js'
import { writeCname, writeReport } from './rtcp/writer.js'
import type { SrtpKeys } from './srtp/keying.js'
import { SrtpReceiver, SrtpSender } from './srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from './srtp/transform.js'

/* A leg and its two ports against plain sockets. */

assertNothingLeft(t)

async function until(what: string, ready: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!ready()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

interface Rig {
  readonly clock: VirtualClock
  readonly end: RtpEndpoint
  readonly timeouts: number[]
  /** The sockets of the peer, and the datagrams they received. */
  readonly rtp: Socket
  readonly rtcp: Socket
  readonly seen: Seen[]
  remote(changes?: Partial<RtpRemote>): void
  /** Sends from one of the peer's sockets to the RTP or RTCP port. Waits until the datagram was handled. */
  send(from: Socket, bytes: Uint8Array, to?: 'rtp' | 'rtcp'): Promise<void>
  tick(): Promise<void>
}

const PEER_SSRC = 0x0badcafe

async function rig(t: Test, address = '127.0.0.1'): Promise<Rig> {
  const clock = new VirtualClock({ nowMs: 1000 })
  const timeouts: number[] = []
  const end = await openRtpEndpoint({
    id: 'leg',
    address,
    ports: new RtpPorts(clock),
    portRange: null,
    rate: 8000,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: (ms) => timeouts.push(ms),
    mediaTimeoutMs: 8000,
  })
  t.teardown(() => end.close('hangup'))
  const seen: Seen[] = []
  const open = async () => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    socket.bind(0, address)
    await once(socket, 'listening')
    t.teardown(async () => {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    })
    socket.on('message', (bytes, from) => {
      seen.push({ atMs: clock.now(), fromPort: from.port, toPort: socket.address().port, bytes })
    })
    return socket
  }
  const rtp = await open()
  const rtcp = await open()
  const looked = () => {
    const { packetsReceived, refused, rtcp: taken } = end.stats()
    return packetsReceived + refused + taken
  }
  let at = 0
  return {
    clock,
    end,
    timeouts,
    rtp,
    rtcp,
    seen,
    remote: (changes = {}) =>
      end.setRemote({
        address,
        port: rtp.address().port,
        codec: 'PCMA',
        payloadType: 8,
        dtmfPayloadType: 101,
        send: true,
        receive: true,
        rtcp: { mux: false, address, port: rtcp.address().port },
        ...changes,
      }),
    send: async (from, bytes, to = 'rtp') => {
      const before = looked()
      from.send(bytes, to === 'rtp' ? end.port : end.rtcpPort, address)
      await until('the datagram', () => looked() > before)
    },
    tick: async () => {
      const sent = () => end.stats().packetsSent + end.stats().rtcpSent
      const wanted = seen.length - sent()
      end.flush(at)
      at += 160
      await until('what the leg sent', () => seen.length - sent() >= wanted)
      clock.advance(20)
    },
  }
}

function start(rig: Rig): void {
  rig.end.start(rig.clock.now(), { onFrame: () => {}, onDigit: () => {} })
}

function audio(sequence: number, timestamp: number, ssrc = PEER_SSRC): Buffer {
  const packet = Buffer.alloc(172, 0xd5)
  writeRtpHeader(packet, 8, false, sequence, timestamp, ssrc)
  return packet
}

function senderReport(ntpSeconds: number, ssrc = PEER_SSRC): Buffer {
  const into = Buffer.alloc(100)
  const info = { ntpSeconds, ntpFraction: 0x80000000, timestamp: 1, packets: 2, octets: 3 }
  const at = writeReport(into, 0, ssrc, info, null)
  return into.subarray(0, writeCname(into, at, ssrc, Buffer.from('peer')))
}

const isControl = ({ bytes }: Seen) => isValidRtcp(bytes)

for (const mux of [true, false]) {
  const name = mux ? 'on the RTP port' : 'on a port of its own'
  const skip = tsharkInstalled ? false : 'tshark is not installed (Debian: tshark)'
  t.test(`RTCP ${name}, as parsed by tshark`, { skip }, async (t) => {
    const it = await rig(t)
    const { end, rtp, rtcp, clock, seen } = it
    const control = mux ? rtp : rtcp
    it.remote({ rtcp: { mux, address: '127.0.0.1', port: control.address().port } })
    start(it)
    const beginMs = clock.now()
    let reportAtMs = 0
    let highest = 0
    for (let i = 0; i < 600; i++) {
      // Every fifth packet is lost; packet 301 arrives after 302.
      const number = i === 301 ? 302 : i === 302 ? 301 : i
      if (number % 5 !== 4) {
        await it.send(rtp, audio((65_500 + number) & 0xffff, number * 160))
        highest = Math.max(highest, 65_500 + number)
      }
      if (i === 100) {
        await it.send(control, senderReport(0xe0001234), mux ? 'rtp' : 'rtcp')
        reportAtMs = clock.now()
      }
      await it.tick()
    }
    end.close('hangup')
    await until('the BYE', () => seen.filter(isControl).length >= end.stats().rtcpSent)

    const carries: Record<number, 'rtp' | 'rtcp'> = {
      [rtp.address().port]: 'rtp',
      ...(mux ? {} : { [rtcp.address().port]: 'rtcp' }),
    }
    const fields = [
      'rtcp.pt',
      'rtcp.senderssrc',
      'rtcp.timestamp.ntp.msw',
      'rtcp.timestamp.rtp',
      'rtcp.sender.packetcount',
      'rtcp.sender.octetcount',
      'rtcp.ssrc.identifier',
      'rtcp.ssrc.fraction',
      'rtcp.ssrc.cum_nr',
      'rtcp.ssrc.high_seq',
      'rtcp.ssrc.high_cycles',
      'rtcp.ssrc.lsr',
      'rtcp.ssrc.dlsr',
      'rtcp.sdes.text',
      'rtcp.length_check',
      'rtp.ssrc',
      'rtp.timestamp',
    ]
    const read = await dissect(seen, carries, fields)
    const values = (row: Record<string, string[]> | undefined, field: string) =>
      (row?.[field] ?? []).map(Number)
    const own = values(read[0], 'rtp.ssrc')[0] ?? -1
    const first = values(read[0], 'rtp.timestamp')[0] ?? -1
    t.ok(own > 0)
    const reports = read.flatMap((row, i) => ((row['rtcp.pt'] ?? []).length > 0 ? [{ row, i }] : []))
    t.equal(reports.length, end.stats().rtcpSent)
    t.ok(reports.length >= 3, `${reports.length} reports in 12 s, the BYE included`)
    for (const [n, { row, i }] of reports.entries()) {
      const last = n === reports.length - 1
      t.strictSame(values(row, 'rtcp.pt'), last ? [200, 202, 203] : [200, 202])
      t.ok(values(row, 'rtcp.senderssrc').every((ssrc) => ssrc === own))
      const { atMs = 0, toPort } = seen[i] ?? {}
      t.equal(toPort, control.address().port)
      const elapsedMs = atMs - beginMs
      const packets = seen.filter((one) => !isControl(one) && one.atMs < atMs).length
      t.strictSame(values(row, 'rtcp.sender.packetcount'), [packets])
      t.strictSame(values(row, 'rtcp.sender.octetcount'), [packets * 160])
      const timestamp = ((values(row, 'rtcp.timestamp.rtp')[0] ?? 0) - first) | 0
      t.equal(timestamp, elapsedMs * 8, 'the RTP clock at the moment of the report')
      const unix = (values(row, 'rtcp.timestamp.ntp.msw')[0] ?? 0) - 2_208_988_800
      t.ok(Math.abs(unix - (clock.wall() - clock.now() + atMs) / 1000) <= 1)
      // A BYE right after a report has no new report block.
      const tells = values(row, 'rtcp.ssrc.identifier').includes(PEER_SSRC)
      t.ok(tells || last)
      t.match(row['rtcp.sdes.text'], [/^[A-Za-z0-9+/]{16}$/])
      // The last one, with the BYE, may follow the previous one at once.
      const fraction = values(row, 'rtcp.ssrc.fraction')[0] ?? 0
      t.ok(last || Math.abs(fraction / 256 - 0.2) < 0.03, `fraction ${fraction}`)
      if (elapsedMs > 2500 && tells) {
        t.strictSame(row['rtcp.ssrc.lsr'], ['305430528'], 'the middle of e0001234 80000000')
        const delay = values(row, 'rtcp.ssrc.dlsr')[0] ?? 0
        t.ok(Math.abs(delay / 65.536 - (atMs - reportAtMs)) < 1)
      }
    }
    const { row } = reports.findLast((one) => one.row['rtcp.ssrc.high_seq']?.length === 1) ?? {}
    t.strictSame(values(row, 'rtcp.ssrc.high_cycles'), [1])
    t.strictSame(values(row, 'rtcp.ssrc.high_seq'), [highest - 0x10000])
    t.strictSame(values(row, 'rtcp.ssrc.cum_nr'), [119], 'the last loss is not known yet')
    t.ok(read.every((one) => !(one['rtcp.length_check'] ?? []).includes('0')))
  })
}

const KEYS: SrtpKeys = {
  suite: 'AES_CM_128_HMAC_SHA1_80',
  send: { keyAndSalt: Buffer.alloc(30, 1), mki: null },
  receive: { keyAndSalt: Buffer.alloc(30, 2), mki: null },
}

t.test('SRTP and SRTCP are exchanged, and unprotected packets are refused', async (t) => {
  const it = await rig(t)
  const { end, rtp, rtcp, seen, clock } = it
  it.remote({ srtp: KEYS })
  start(it)
  const theirs = new SrtpSender(KEYS.suite, KEYS.receive)
  const ours = new SrtpReceiver(KEYS.suite, KEYS.send)
  const sealed = (packet: Buffer, seal: 'protectRtp' | 'protectRtcp') => {
    const buffer = Buffer.alloc(packet.length + MAX_SRTP_OVERHEAD)
    buffer.set(packet)
    return buffer.subarray(0, theirs[seal](buffer, packet.length))
  }
  for (let i = 0; i < 300; i++) {
    await it.send(rtp, sealed(audio(i, i * 160), 'protectRtp'))
    if (i % 50 === 0) await it.send(rtp, audio(i, i * 160))
    if (i === 60) await it.send(rtcp, sealed(senderReport(0xe0001234), 'protectRtcp'), 'rtcp')
    if (i === 61) await it.send(rtcp, senderReport(0xe0001234), 'rtcp')
    await it.tick()
  }
  t.match(end.stats(), { packetsReceived: 300, authFailures: 7, rtcp: 1, lost: 0 })
  end.close('hangup')
  await until('the BYE', () => seen.length >= end.stats().packetsSent + end.stats().rtcpSent)
  let plain = 0
  for (const { bytes, toPort } of seen) {
    if (toPort === rtcp.address().port) t.ok(ours.unprotectRtcp(bytes, bytes.length) > 0)
    else if (ours.unprotectRtp(bytes, bytes.length) === 172) plain++
  }
  t.equal(plain, 300)

  // A re-INVITE with the same keys continues, one with new keys starts over.
  const again = await rig(t)
  again.remote({ srtp: KEYS })
  start(again)
  const first = sealed(audio(500, 0), 'protectRtp')
  await again.send(again.rtp, first)
  again.remote({ srtp: { ...KEYS, receive: { ...KEYS.receive } } })
  await again.send(again.rtp, first)
  t.match(again.end.stats(), { packetsReceived: 1, authFailures: 1 }, 'still known as a replay')
  again.remote({ srtp: { ...KEYS, receive: { keyAndSalt: Buffer.alloc(30, 3), mki: null } } })
  await again.send(again.rtp, sealed(audio(501, 160), 'protectRtp'))
  t.match(again.end.stats(), { packetsReceived: 1, authFailures: 2 }, 'the old key is no longer good')
  t.equal(clock.pending, 0)
})

t.test('other protocols on the port are recognised and counted (RFC 7983)', async (t) => {
  const it = await rig(t)
  const { end, rtp, rtcp } = it
  it.remote()
  start(it)
  await it.send(rtp, Buffer.from('000100002112a442000102030405060708090a0b', 'hex')) // STUN binding request
  await it.send(rtp, Buffer.from('16fefd0000000000000000', 'hex')) // DTLS
  await it.send(rtp, Buffer.from('400000040badcafe', 'hex')) // TURN channel
  await it.send(rtp, Buffer.from('1000000000000000', 'hex')) // ZRTP
  await it.send(rtp, Buffer.alloc(0))
  await it.send(rtcp, Buffer.from('nonsense'), 'rtcp')
  t.match(end.stats(), { otherProtocols: 6, refused: 6, packetsReceived: 0, rtcp: 0 })
})

t.test('RTCP counts from the source of the stream', async (t) => {
  const it = await rig(t)
  const { end, rtp, rtcp } = it
  it.remote()
  start(it)
  await it.send(rtp, audio(1, 160))
  await it.send(rtcp, senderReport(1), 'rtp')
  t.match(end.stats(), { rtcp: 0, unknownSources: 1 }, 'on the RTP port: from its very address only')
  await it.send(rtp, senderReport(1), 'rtp')
  await it.send(rtcp, senderReport(1), 'rtcp')
  t.match(end.stats(), { rtcp: 2, unknownSources: 1 })
  await it.send(rtcp, Buffer.from('81c90001', 'hex'), 'rtcp')
  await it.send(rtcp, Buffer.from('81c9000111223344', 'hex'), 'rtcp')
  t.match(end.stats(), { rtcp: 2, refused: 3 }, 'and only when it is well made')
})

t.test('RTCP proves that a silent peer is alive; a hold needs no proof', async (t) => {
  const it = await rig(t)
  const { end, rtp, rtcp, timeouts } = it
  it.remote()
  start(it)
  await it.send(rtp, audio(1, 160))
  for (let i = 0; i < 1500; i++) {
    // Muted, with silence suppression: only a report every five seconds.
    if (i % 250 === 0) await it.send(rtcp, senderReport(1), 'rtcp')
    await it.tick()
  }
  t.strictSame(timeouts, [], 'half a minute')
  it.remote({ receive: false })
  for (let i = 0; i < 600; i++) await it.tick()
  t.strictSame(timeouts, [])
  it.remote()
  for (let i = 0; i < 450; i++) await it.tick()
  t.strictSame(timeouts.length, 1, 'neither RTP nor RTCP for eight seconds')
  t.equal(end.stats().packetsReceived, 1)
})

t.test('over IPv6', async (t) => {
  const it = await rig(t, '::1')
  const { end, rtp, rtcp, seen } = it
  it.remote()
  start(it)
  for (let i = 0; i < 200; i++) {
    await it.send(rtp, audio(i, i * 160))
    await it.tick()
  }
  await it.send(rtcp, senderReport(1), 'rtcp')
  t.equal(end.address, '::1')
  t.match(end.stats(), { packetsReceived: 200, rtcp: 1, refused: 0, packetsSent: 200, sendErrors: 0 })
  t.ok(seen.some((one) => isControl(one) && one.toPort === rtcp.address().port))
})
