import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { joined, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { cannotForge, sendForged } from '../../fixtures/host/forged-datagrams.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { seeded } from '../../fixtures/host/random.js'
import { silentLog } from '../base/log.js'
import { encodeAlaw } from '../codec/g711.js'
import { openRtpEndpoint } from './endpoint.js'
import { writeRtpHeader } from './packet.js'
import { RtpPorts } from './port.js'
import { writeBye, writeCname, writeReport } from './rtcp/writer.js'
import type { SrtpKeys } from './srtp/keying.js'
import { SrtpSender } from './srtp/srtp.js'
import { MAX_SRTP_OVERHEAD } from './srtp/transform.js'

/* Garbage and floods on a media port must not affect the call. */

assertNothingLeft(t)

const HZ = 1000
const KEYS: SrtpKeys = {
  suite: 'AES_CM_128_HMAC_SHA1_80',
  send: { keyAndSalt: Buffer.alloc(30, 1), mki: null },
  receive: { keyAndSalt: Buffer.alloc(30, 2), mki: null },
}

async function until(what: string, ready: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!ready()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

async function openSocket(t: Test): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  // A full or refusing socket loses packets, as a network does.
  socket.on('error', () => {})
  t.teardown(async () => {
    const closed = once(socket, 'close')
    socket.close()
    await closed
  })
  return socket
}

/** A live call: the peer sends a tone, one packet per tick. */
async function call(t: Test, srtp?: SrtpKeys) {
  const clock = new VirtualClock({ nowMs: 1000 })
  const faults: unknown[] = []
  const end = await openRtpEndpoint({
    id: 'leg',
    address: '127.0.0.1',
    ports: new RtpPorts(clock),
    portRange: null,
    rate: 8000,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: () => {},
    mediaTimeoutMs: 60_000,
    onFault: (error) => faults.push(error),
  })
  t.teardown(() => end.close('hangup'))
  const peer = await openSocket(t)
  const { port } = peer.address()
  end.setRemote({
    address: '127.0.0.1',
    port,
    codec: 'PCMA',
    payloadType: 8,
    dtmfPayloadType: 101,
    send: true,
    receive: true,
    rtcp: { mux: true, address: '127.0.0.1', port },
    ...(srtp === undefined ? {} : { srtp }),
  })
  const received: Int16Array[] = []
  end.start(clock.now(), { onFrame: ({ pcm }) => received.push(pcm.slice()), onDigit: () => {} })
  const said = tone(HZ, 20)
  const out = srtp === undefined ? null : new SrtpSender(srtp.suite, srtp.receive)
  const seal = (packet: Buffer, kind: 'protectRtp' | 'protectRtcp'): Buffer => {
    if (out === null) return packet
    const buffer = Buffer.alloc(packet.length + MAX_SRTP_OVERHEAD)
    buffer.set(packet)
    return buffer.subarray(0, out[kind](buffer, packet.length))
  }
  let frame = 0
  /** Returns the next packet of the peer as it is sent. */
  const speech = (): Buffer => {
    const packet = Buffer.alloc(172)
    writeRtpHeader(packet, 8, false, frame & 0xffff, frame * 160, 0x5eed)
    encodeAlaw(said, 0, 160, packet, 12)
    frame++
    return seal(packet, 'protectRtp')
  }
  const report = (): Buffer => {
    const into = Buffer.alloc(120)
    let at = writeReport(
      into,
      0,
      0x5eed,
      { ntpSeconds: 1, ntpFraction: 2, timestamp: 3, packets: 4, octets: 5 },
      null,
    )
    at = writeCname(into, at, 0x5eed, Buffer.from('peer'))
    return seal(into.subarray(0, writeBye(into, at, 0x5eed)), 'protectRtcp')
  }
  const looked = () => end.stats().packetsReceived + end.stats().refused + end.stats().rtcp
  return {
    end,
    peer,
    clock,
    received,
    faults,
    speech,
    report,
    looked,
    /** Well formed, but of another source. */
    speechOfThief: (n: number): Buffer => {
      const packet = Buffer.alloc(172, 0xd5)
      writeRtpHeader(packet, 8, false, n & 0xffff, n * 160, 0xbad)
      return packet
    },
    send: async (from: Socket, bytes: Uint8Array) => {
      const before = looked()
      from.send(bytes, end.port, '127.0.0.1')
      await until('a datagram', () => looked() > before)
    },
    tick: () => {
      end.flush(Math.round((clock.now() - 1000) / 20) * 160)
      clock.advance(20)
    },
  }
}

/** The share of the tone in the received audio per 20 ms: its minimum after the first frames. */
function worst(received: readonly Int16Array[]): number {
  return Math.min(...received.slice(2).map((pcm) => toneLevel(pcm, HZ)))
}

for (const srtp of [undefined, KEYS]) {
  const what = srtp === undefined ? 'in the clear' : 'protected'
  t.test(`mutated packets of a stranger, ${what}: the peer's audio is complete`, async (t) => {
    const it = await call(t, srtp)
    const thief = await openSocket(t)
    const random = seeded(41)
    for (let i = 0; i < 300; i++) {
      const genuine = it.speech()
      await it.send(it.peer, genuine)
      for (let n = 0; n < 8; n++) await it.send(thief, mutated(random, n % 4 === 0 ? it.report() : genuine))
      it.tick()
    }
    t.strictSame(it.faults, [])
    t.equal(it.end.stats().packetsReceived, 300)
    t.equal(it.end.stats().refused, 2400)
    t.equal(it.received.length, 300)
    t.ok(worst(it.received) > 0.28, `${worst(it.received)}`)
  })
}

t.test('mutated packets from the address of an SRTP stream change nothing', async (t) => {
  const it = await call(t, KEYS)
  const random = seeded(42)
  for (let i = 0; i < 300; i++) {
    const genuine = it.speech()
    for (let n = 0; n < 6; n++) {
      let bad = mutated(random, n % 3 === 0 ? it.report() : genuine)
      while (bad.equals(genuine)) bad = mutated(random, genuine)
      await it.send(it.peer, bad)
    }
    await it.send(it.peer, genuine)
    it.tick()
  }
  t.strictSame(it.faults, [])
  t.match(it.end.stats(), { packetsReceived: 300, lost: 0, duplicates: 0, concealedFrames: 0 })
  t.equal(it.received.length, 300)
  t.ok(worst(it.received) > 0.28)
})

t.test(
  'mutated packets from the address of an unencrypted stream: nothing throws, the stream recovers',
  async (t) => {
    const it = await call(t)
    const random = seeded(43)
    for (let i = 0; i < 500; i++) {
      for (let n = 0; n < 4; n++)
        await it.send(it.peer, mutated(random, n % 2 === 0 ? it.report() : it.speech()))
      it.tick()
    }
    t.strictSame(it.faults, [])
    for (let i = 0; i < 100; i++) {
      await it.send(it.peer, it.speech())
      it.tick()
    }
    const last = joined(...it.received.slice(-40))
    t.ok(toneLevel(last.subarray(0, 160), HZ) > 0.28, 'the last second is as it should be')
    t.ok(worst(it.received.slice(-40)) > 0.28)
  },
)

t.test('a connected socket keeps a flood of strangers out; a re-INVITE disconnects it again', async (t) => {
  const it = await call(t)
  const thief = await openSocket(t)
  const flood = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await new Promise((resolve) => thief.send(it.speechOfThief(i), it.end.port, '127.0.0.1', resolve))
    }
  }
  for (let i = 0; i < 10; i++) {
    await it.send(it.peer, it.speech())
    it.tick()
  }
  await flood(51)
  await until('the first of the flood', () => it.end.stats().refused >= 51)
  t.equal(it.end.stats().filterActivations, 0)
  it.tick()
  t.equal(it.end.stats().filterActivations, 1)
  for (let i = 0; i < 50; i++) {
    await flood(100)
    await it.send(it.peer, it.speech())
    it.tick()
  }
  t.equal(it.end.stats().refused, 51, 'none of five thousand more came to us')
  t.equal(it.end.stats().packetsReceived, 60)
  t.equal(it.received.length, 60)
  t.ok(worst(it.received) > 0.28)
  const sent = it.end.stats().packetsSent
  it.tick()
  t.equal(it.end.stats().packetsSent, sent + 1, 'sending goes on through the door')

  it.end.setRemote({
    address: '127.0.0.1',
    port: thief.address().port,
    codec: 'PCMA',
    payloadType: 8,
    dtmfPayloadType: null,
    send: true,
    receive: true,
  })
  await it.send(thief, it.speechOfThief(1))
  t.equal(it.end.stats().packetsReceived, 61)
})

t.test('after a flood a silent peer may still be replaced', async (t) => {
  const it = await call(t)
  const other = await openSocket(t)
  await it.send(it.peer, it.speech())
  for (let i = 0; i < 60; i++) await it.send(other, it.speechOfThief(i))
  it.tick()
  t.match(it.end.stats(), { filterActivations: 1, refused: 60, latches: 1 })
  for (let i = 0; i < 60; i++) it.tick()
  for (let i = 100; i < 110; i++) await it.send(other, it.speechOfThief(i))
  t.match(it.end.stats(), { latches: 2, packetsReceived: 2 })
})

t.test("more than one tick's worth of packets from the peer is not parsed", async (t) => {
  const it = await call(t)
  for (let i = 0; i < 200; i++) await it.send(it.peer, it.speech())
  t.match(it.end.stats(), { packetsReceived: 64, floodDropped: 136 })
  it.tick()
  await it.send(it.peer, it.speech())
  t.match(it.end.stats(), { packetsReceived: 65, floodDropped: 136 })
})

/** A STUN binding request (RFC 8489), which is not handled on a media port. */
const STUN = Buffer.from('000100002112a442000102030405060708090a0b', 'hex')

t.test('datagrams from UDP port 0 are refused: nothing can be sent there', async (t) => {
  const it = await call(t)
  const zero = { address: '127.0.0.1', port: 0 }
  for (const bytes of [it.speech(), it.report(), STUN]) it.end.onDatagram(bytes, zero)
  it.end.rtcpListener.onDatagram(it.report(), zero)
  t.match(it.end.stats(), { refused: 4, unknownSources: 4, packetsReceived: 0, rtcp: 0, latches: 0 })
  for (let i = 0; i < 60; i++) it.end.onDatagram(it.speech(), zero)
  it.tick()
  t.match(it.end.stats(), { filterActivations: 0, packetsSent: 1, sendErrors: 0 }, 'no filter on port 0')
})

t.test(
  'forged datagrams from port 0 and from the own port change nothing',
  { skip: cannotForge() },
  async (t) => {
    const it = await call(t)
    const { rtcpPort, port } = it.end
    const from = [
      { address: '127.0.0.1', port: 0 },
      { address: '127.0.0.1', port },
      { address: '255.255.255.255', port: 4000 },
      { address: '224.0.0.1', port: 4000 },
    ]
    await it.send(it.peer, it.speech())
    for (let i = 0; i < 60; i++) {
      const datagrams = from.flatMap((source) =>
        [it.speechOfThief(i), it.report(), STUN].flatMap((bytes) =>
          [port, rtcpPort].map((to) => ({ from: source, to: { address: '127.0.0.1', port: to }, bytes })),
        ),
      )
      if (i % 20 === 0) await sendForged(datagrams)
      await it.send(it.peer, it.speech())
      it.tick()
    }
    t.strictSame(it.faults, [])
    t.match(it.end.stats(), { packetsReceived: 61, latches: 1, sendErrors: 0, packetsSent: 60 })
    t.ok(it.end.stats().unknownSources >= 3, 'the system delivered some of them')
  },
)

/** Flips bits, replaces, cuts or appends bytes. */
function mutated(random: ReturnType<typeof seeded>, packet: Buffer): Buffer {
  const pick = (below: number) => Math.floor(random.between(0, below))
  const kind = pick(4)
  if (kind === 0) return Buffer.from(packet.subarray(0, pick(packet.length)))
  if (kind === 1) return Buffer.concat([packet, Buffer.alloc(1 + pick(64), pick(256))])
  const bytes = Buffer.from(packet)
  for (let n = 1 + pick(4); n > 0; n--) {
    // Mutations of the header have the most effect.
    const at = random.next() < 0.7 ? pick(Math.min(16, bytes.length)) : pick(bytes.length)
    bytes[at] = kind === 2 ? (bytes[at] as number) ^ (1 << pick(8)) : pick(256)
  }
  return bytes
}
