import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { joined, levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import type { SessionRate } from '../base/frame.js'
import { silentLog } from '../base/log.js'
import { decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw } from '../codec/g711.js'
import type { ArrivalListener } from '../session/endpoint.js'
import { openRtpEndpoint, type RtpEndpoint, type RtpEndpointOptions } from './endpoint.js'
import { RtpPacket, writeRtpHeader } from './packet.js'
import { RtpPorts } from './port.js'
import type { RtpRemote } from './remote-description.js'

assertNothingLeft(t)

const DEADLINE_MS = 30_000

async function until(what: string, ready: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!ready()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

interface Got {
  readonly packet: RtpPacket
  readonly payload: Uint8Array
}

/** A plain socket that sends RTP byte by byte. */
class Peer {
  readonly got: Got[] = []
  sequence = 1000
  timestamp = 5000
  ssrc = 0xabcdef01

  constructor(
    readonly socket: Socket,
    readonly end: RtpEndpoint,
  ) {
    socket.on('message', (data) => {
      const packet = new RtpPacket()
      if (!packet.parse(data)) throw new Error('the engine sent something that is no RTP')
      this.got.push({ packet, payload: data.subarray(packet.payloadOffset) })
    })
  }

  get port(): number {
    return this.socket.address().port
  }

  raw(bytes: Uint8Array): void {
    this.socket.send(bytes, this.end.port, this.end.address)
  }

  packet(type: number, payload: Uint8Array, options: { timestamp?: number; marker?: boolean } = {}): void {
    const bytes = new Uint8Array(12 + payload.length)
    bytes.set(payload, 12)
    writeRtpHeader(
      bytes,
      type,
      options.marker ?? false,
      this.sequence++,
      options.timestamp ?? this.timestamp,
      this.ssrc,
    )
    this.raw(bytes)
  }

  say(pcm: Int16Array, law: 'PCMA' | 'PCMU' = 'PCMA'): void {
    const payload = new Uint8Array(pcm.length)
    if (law === 'PCMA') encodeAlaw(pcm, 0, pcm.length, payload, 0)
    else encodeUlaw(pcm, 0, pcm.length, payload, 0)
    this.packet(law === 'PCMA' ? 8 : 0, payload)
    this.timestamp += pcm.length
  }

  heard(law: 'PCMA' | 'PCMU' = 'PCMA'): Int16Array {
    return joined(
      ...this.got.map(({ payload }) => {
        const pcm = new Int16Array(payload.length)
        if (law === 'PCMA') decodeAlaw(payload, 0, payload.length, pcm, 0)
        else decodeUlaw(payload, 0, payload.length, pcm, 0)
        return pcm
      }),
    )
  }
}

interface Rig {
  readonly end: RtpEndpoint
  readonly peer: Peer
  readonly clock: VirtualClock
  readonly frames: { at: number; pcm: Int16Array }[]
  readonly digits: string[]
  readonly timeouts: boolean[]
  remote(changes?: Partial<RtpRemote>): void
  newPeer(): Promise<Peer>
  /** Runs one tick with or without this audio. Waits until its packet, if any, has arrived at the peer. */
  tick(pcm?: Int16Array | null, to?: Peer): Promise<void>
  /** Waits until the datagrams sent to the endpoint have arrived. */
  arrived(count: number): Promise<void>
  start(): void
}

async function rig(
  t: Test,
  changes: Partial<RtpEndpointOptions> & { rate?: SessionRate } = {},
): Promise<Rig> {
  const clock = new VirtualClock({ nowMs: 10_000 })
  const digits: string[] = []
  const timeouts: boolean[] = []
  const rate = changes.rate ?? 8000
  const end = await openRtpEndpoint({
    id: 'leg',
    address: '127.0.0.1',
    ports: new RtpPorts(clock),
    portRange: null,
    rate,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: (_silentMs, again) => timeouts.push(again),
    mediaTimeoutMs: 5000,
    ...changes,
  })
  t.teardown(() => end.close('hangup'))
  const newPeer = async () => {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.teardown(async () => {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    })
    return new Peer(socket, end)
  }
  const peer = await newPeer()
  const frames: { at: number; pcm: Int16Array }[] = []
  const listener: ArrivalListener = {
    onFrame: (frame) => frames.push({ at: frame.at, pcm: frame.pcm.slice() }),
    onDigit: (digit, ms) => digits.push(`${digit} ${ms}`) === 0,
  }
  let at = 0
  return {
    end,
    peer,
    clock,
    frames,
    digits,
    timeouts,
    newPeer,
    remote: (remote = {}) => {
      end.setRemote({
        address: '127.0.0.1',
        port: peer.port,
        codec: 'PCMA',
        payloadType: 8,
        dtmfPayloadType: 101,
        send: true,
        receive: true,
        ...remote,
      })
    },
    start: () => end.start(clock.now(), listener),
    tick: async (pcm = null, to = peer) => {
      const sent = end.stats().packetsSent
      const got = to.got.length
      if (pcm !== null) end.push({ pcm, rate, at })
      end.flush(at)
      at += rate / 50
      clock.advance(20)
      if (end.stats().packetsSent > sent) await until('a packet of the engine', () => to.got.length > got)
    },
    arrived: (count) =>
      until(`${count} datagrams`, () => {
        const { packetsReceived, refused, rtcp } = end.stats()
        return packetsReceived + refused + rtcp >= count
      }),
  }
}

t.test('nothing is sent before start; then one packet per tick, silence or audio', async (t) => {
  const { end, peer, remote, start, tick } = await rig(t)
  await tick(tone(500, 20))
  remote()
  await tick(tone(500, 20))
  t.equal(end.stats().packetsSent, 0)
  start()
  for (let i = 0; i < 3; i++) await tick()
  for (let i = 0; i < 3; i++) await tick(tone(500, 20))
  await tick()
  await tick(tone(500, 20))
  t.equal(peer.got.length, 8)
  const headers = peer.got.map(({ packet }) => packet)
  const first = headers[0] ?? new RtpPacket()
  for (const [i, header] of headers.entries()) {
    t.equal(header.payloadType, 8)
    t.equal(header.payloadLength, 160)
    t.equal(header.ssrc, first.ssrc)
    t.equal((header.sequence - first.sequence) & 0xffff, i)
    t.equal((header.timestamp - first.timestamp) >>> 0, i * 160)
  }
  t.strictSame(
    headers.map((header) => header.marker),
    [false, false, false, true, false, false, false, true],
    'the marker begins each talk spurt',
  )
  const heard = peer.heard()
  const silence = levelDbfs(heard, 0, 480)
  t.ok(silence < -60 && silence > -80, `comfort silence at ${silence.toFixed(1)} dBFS`)
  t.ok(toneLevel(heard.subarray(480, 960), 500) > 0.25)
})

t.test('both laws of G.711, and sessions at 16 kHz', async (t) => {
  for (const codec of ['PCMA', 'PCMU'] as const) {
    for (const rate of [8000, 16000] as const) {
      const { peer, remote, start, tick, arrived, frames, end } = await rig(t, { rate })
      remote({ codec, payloadType: codec === 'PCMA' ? 8 : 0 })
      start()
      const ours = tone(600, 400, rate)
      const theirs = tone(1000, 400)
      const pulled: Int16Array[] = []
      for (let i = 0; i < 20; i++) {
        peer.say(theirs.subarray(i * 160, (i + 1) * 160), codec)
        await arrived(i + 1)
        const frame = new Int16Array(rate / 50)
        end.pull(frame, (i * rate) / 50)
        pulled.push(frame)
        await tick(ours.subarray((i * rate) / 50, ((i + 1) * rate) / 50))
      }
      const note = `${codec} at ${rate}`
      t.ok(toneLevel(peer.heard(codec).subarray(800), 600) > 0.25, `${note}: sent`)
      t.ok(toneLevel(joined(...frames.slice(2).map(({ pcm }) => pcm)), 1000, rate) > 0.25, `${note}: ear`)
      t.ok(toneLevel(joined(...pulled.slice(6)), 1000, rate) > 0.25, `${note}: after the jitter buffer`)
      t.equal(frames.length, 20)
      t.equal(frames[10]?.at, (9 * rate) / 50, 'spoken before it came')
    }
  }
})

t.test('audio before start is ignored and does not latch', async (t) => {
  const { peer, remote, start, tick, arrived, frames, end, newPeer } = await rig(t)
  const stale = await newPeer()
  remote()
  stale.say(tone(500, 20))
  stale.say(tone(500, 20))
  // When a later datagram on the same socket pair has arrived, so have the earlier ones.
  const probe = createSocket('udp4')
  probe.send(Buffer.alloc(1), end.port, '127.0.0.1')
  await new Promise<void>((resolve) => setTimeout(resolve, 50))
  // Sockets are read between a timer and this point, even when both are late.
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  probe.close()
  t.equal(end.stats().packetsReceived + end.stats().refused, 0)
  start()
  await tick()
  t.equal(peer.got.length, 1, 'still sends to the address of the SDP')
  peer.say(tone(500, 20))
  await arrived(1)
  t.strictSame(
    frames.map(({ at }) => at),
    [0],
    'the packet that came after 20 ms was spoken in them',
  )
})

t.test('symmetric RTP: packets go to where they come from', async (t) => {
  const { peer, remote, start, tick, arrived, newPeer } = await rig(t)
  const sdp = await newPeer()
  remote({ port: sdp.port })
  start()
  await tick(null, sdp)
  peer.say(tone(500, 20))
  await arrived(1)
  await tick()
  t.equal(peer.got.length, 1)
  t.equal(sdp.got.length, 1)
})

t.test('the SDP address recovers the stream', async (t) => {
  const { peer, remote, start, tick, arrived, newPeer, clock } = await rig(t)
  const stranger = await newPeer()
  remote()
  start()
  stranger.say(tone(500, 20))
  await arrived(1)
  clock.advance(2000)
  stranger.say(tone(500, 20))
  await arrived(2)
  peer.say(tone(500, 20))
  await arrived(3)
  await tick()
  t.equal(peer.got.length, 1)
})

t.test('a stranger is rejected and counted, also while the stream is silent', async (t) => {
  const { peer, remote, start, arrived, newPeer, clock, end, frames, tick } = await rig(t)
  const thief = await newPeer()
  remote()
  start()
  peer.say(tone(500, 20))
  await arrived(1)
  clock.advance(4000)
  const before = frames.length
  for (let i = 0; i < 9; i++) {
    thief.say(tone(2000, 20))
    await arrived(2 + i)
    clock.advance(20)
  }
  t.equal(end.stats().refused, 9)
  t.equal(frames.length, before)
  await tick()
  t.equal(thief.got.length, 0, 'and nothing is sent to it')
  t.equal(peer.got.length, 1)
})

t.test('the stream continues from another port, as behind a NAT', async (t) => {
  const { peer, remote, start, arrived, newPeer, clock, end } = await rig(t)
  const moved = await newPeer()
  remote()
  start()
  peer.say(tone(500, 20))
  await arrived(1)
  moved.sequence = peer.sequence
  moved.timestamp = peer.timestamp
  for (let i = 0; i < 11; i++) {
    clock.advance(20)
    moved.say(tone(500, 20))
    await arrived(2 + i)
  }
  t.match(end.stats(), { packetsReceived: 3, refused: 9, latches: 2 })
  end.flush(160)
  await until('a packet at the new port', () => moved.got.length === 1)
})

t.test(
  'the socket of a settled stream is connected, and the stream may still move to another port',
  async (t) => {
    const { peer, remote, start, tick, arrived, newPeer, clock, end } = await rig(t)
    const moved = await newPeer()
    remote()
    start()
    for (let i = 0; i < 60; i++) {
      peer.say(tone(500, 20))
      await arrived(i + 1)
      await tick()
    }
    const before = end.stats()
    // The system drops the stranger's packets: only the one of the stream arrives.
    for (let i = 0; i < 5; i++) moved.say(tone(500, 20))
    peer.say(tone(500, 20))
    await until('the next packet', () => end.stats().packetsReceived > before.packetsReceived)
    t.equal(end.stats().refused, before.refused)
    moved.sequence = peer.sequence
    moved.timestamp = peer.timestamp
    moved.ssrc = peer.ssrc
    for (let i = 0; i < 6; i++) await tick()
    const silent = end.stats()
    for (let i = 0; i < 10; i++) {
      clock.advance(20)
      moved.say(tone(500, 20))
      await until('the packet', () => {
        const { packetsReceived, refused } = end.stats()
        return packetsReceived + refused > silent.packetsReceived + silent.refused + i
      })
    }
    t.equal(end.stats().latches, before.latches + 1)
    await tick(null, moved)
    t.ok(moved.got.length > 0)
  },
)

t.test('a new SSRC from the same address is accepted once the old one is silent', async (t) => {
  const { peer, remote, start, arrived, clock, end } = await rig(t)
  remote()
  start()
  peer.say(tone(500, 20))
  await arrived(1)
  clock.advance(20)
  const old = peer.ssrc
  peer.ssrc = 7
  peer.say(tone(500, 20))
  await arrived(2)
  t.equal(end.stats().refused, 1)
  clock.advance(100)
  peer.sequence = 60_000
  peer.timestamp = 4_000_000_000
  peer.say(tone(500, 20))
  await arrived(3)
  peer.ssrc = old
  peer.say(tone(500, 20))
  await arrived(4)
  t.match(end.stats(), { refused: 2, packetsReceived: 2, lost: 0 })
})

t.test('datagrams that are not RTP of this call are rejected; RTCP is not', async (t) => {
  const { peer, remote, start, arrived, end, frames } = await rig(t)
  remote()
  start()
  peer.raw(Buffer.from('hello, this is no RTP at all'))
  peer.raw(Buffer.alloc(0))
  peer.packet(0, new Uint8Array(160)) // PCMU was not negotiated
  peer.packet(96, new Uint8Array(160))
  peer.raw(Buffer.from('80c80006deadbeef0000000000000000000000000000000000000000', 'hex'))
  await arrived(5)
  t.match(end.stats(), { refused: 4, rtcp: 1, packetsReceived: 0 })
  t.equal(frames.length, 0)
  peer.packet(8, new Uint8Array(0))
  peer.packet(8, new Uint8Array(1400).fill(0xd5))
  peer.packet(13, Uint8Array.of(60))
  await arrived(8)
  t.equal(end.stats().packetsReceived, 3)
})

t.test('received digits are reported once each, and not as audio', async (t) => {
  const seen: string[] = []
  const { peer, remote, start, arrived, digits, frames, clock } = await rig(t, {
    onDigit: (digit) => seen.push(digit) === 0,
  })
  remote()
  start()
  let count = 0
  for (const event of [1, 1, 11]) {
    for (let i = 1; i <= 7; i++) {
      const duration = Math.min(i, 5) * 160
      const payload = Uint8Array.of(event, (i >= 5 ? 0x80 : 0) | 10, duration >> 8, duration & 0xff)
      peer.packet(101, payload, { marker: i === 1 })
      count++
    }
    peer.timestamp += 1600
  }
  await arrived(count)
  clock.advance(20)
  t.strictSame(digits, ['1 100', '1 100', '# 100'])
  t.strictSame(seen, ['1', '1', '#'])
  t.equal(frames.length, 0)
})

t.test('sent digits replace audio, with one timestamp each', async (t) => {
  const { peer, remote, start, tick, end } = await rig(t)
  remote()
  t.equal(end.press(['5']), false, 'not live')
  start()
  await tick(tone(500, 20))
  t.ok(end.press(['5']))
  for (let i = 0; i < 13; i++) await tick(tone(500, 20))
  const types = peer.got.map(({ packet }) => packet.payloadType)
  t.strictSame(types, [8, ...new Array(11).fill(101), 8, 8])
  const base = peer.got[0]?.packet.timestamp ?? 0
  const events = peer.got.slice(1, 12)
  t.ok(events.every(({ packet }) => (packet.timestamp - base) >>> 0 === 160))
  t.strictSame(
    events.map(({ packet }) => packet.marker),
    [true, ...new Array(10).fill(false)],
  )
  t.equal(Buffer.from(events.at(-1)?.payload ?? []).toString('hex'), '058a0500')
  t.equal(((peer.got[12]?.packet.timestamp ?? 0) - base) >>> 0, 12 * 160, 'sound goes on in its place')
  t.strictSame(
    peer.got.map(({ packet }, i) => (packet.sequence - (peer.got[0]?.packet.sequence ?? 0) - i) & 0xffff),
    new Array(14).fill(0),
  )
  remote({ dtmfPayloadType: null })
  t.equal(end.press(['5']), false, 'not negotiated')
})

t.test('on hold nothing is sent or heard, and both resume', async (t) => {
  const { peer, remote, start, tick, arrived, frames, end } = await rig(t)
  remote()
  start()
  await tick(tone(500, 20))
  peer.say(tone(1000, 20))
  await arrived(1)
  remote({ send: false, receive: false })
  for (let i = 0; i < 3; i++) await tick(tone(500, 20))
  t.equal(peer.got.length, 1)
  peer.say(tone(1000, 20))
  await arrived(2)
  t.equal(levelDbfs(frames.at(-1)?.pcm ?? new Int16Array()), -120)
  remote()
  await tick(tone(500, 20))
  t.equal(peer.got.length, 2)
  const [first, second] = peer.got.map(({ packet }) => packet)
  t.equal(((second?.sequence ?? 0) - (first?.sequence ?? 0)) & 0xffff, 1)
  t.equal(((second?.timestamp ?? 0) - (first?.timestamp ?? 0)) >>> 0, 4 * 160)
  t.equal(second?.marker, true)
  peer.say(tone(1000, 20))
  await arrived(3)
  t.ok(levelDbfs(frames.at(-1)?.pcm ?? new Int16Array()) > -20)
  t.equal(end.stats().lost, 0)
})

t.test('a re-INVITE may change the remote address', async (t) => {
  const { peer, remote, start, tick, arrived, newPeer } = await rig(t)
  remote()
  start()
  peer.say(tone(500, 20))
  await arrived(1)
  await tick()
  const moved = await newPeer()
  remote({ port: moved.port })
  moved.say(tone(500, 20))
  await arrived(2)
  await tick(null, moved)
  t.equal(peer.got.length, 1)
})

t.test('a silence is reported each time that it lasts as long again, and not on hold', async (t) => {
  const { peer, remote, start, tick, arrived, timeouts, clock } = await rig(t)
  remote()
  clock.advance(60_000)
  start()
  await tick()
  t.strictSame(timeouts, [])
  clock.advance(5000)
  await tick()
  await tick()
  t.strictSame(timeouts, [false])
  clock.advance(4800)
  await tick()
  t.equal(timeouts.length, 1)
  clock.advance(200)
  await tick()
  clock.advance(5000)
  await tick()
  t.strictSame(timeouts, [false, true, true])
  peer.say(tone(500, 20))
  await arrived(1)
  clock.advance(5000)
  await tick()
  t.strictSame(timeouts.slice(3), [false], 'another silence')
  remote({ receive: false })
  clock.advance(20_000)
  await tick()
  t.equal(timeouts.length, 4)
  remote()
  await tick()
  t.equal(timeouts.length, 4, 'after a hold the line has its time again')
})

t.test('loss, duplicates and reordering are counted', async (t) => {
  const { peer, remote, start, arrived, end, clock, frames } = await rig(t)
  remote()
  start()
  for (let i = 0; i < 20; i++) {
    if (i === 5) {
      peer.sequence++
      peer.timestamp += 160
      clock.advance(20)
    }
    peer.say(tone(500, 20))
    if (i === 9) {
      peer.sequence--
      peer.timestamp -= 160
      peer.say(tone(500, 20))
    }
    await arrived(i + 1 + (i >= 9 ? 1 : 0))
    clock.advance(20)
  }
  t.match(end.stats(), { packetsReceived: 21, lost: 1, duplicates: 1, refused: 0, late: 0 })
  t.equal(frames.length, 21, 'twenty heard and one made up')
})

t.test('ports: even ones of the range, reserved after use, rejected when none is left', async (t) => {
  const clock = new VirtualClock({ nowMs: 0 })
  const free = createSocket('udp4')
  free.bind(0, '127.0.0.1')
  await once(free, 'listening')
  // A range above a port that the system just assigned. A collision would show as a refusal below.
  const first = Math.min(60_000, free.address().port + 101) | 1
  const closed = once(free, 'close')
  free.close()
  await closed
  const ports = new RtpPorts(clock)
  const open = () =>
    openRtpEndpoint({
      id: 'leg',
      address: '127.0.0.1',
      ports,
      portRange: { first, last: first + 4 },
      rate: 8000,
      clock,
      log: silentLog,
      onDigit: null,
      onTimeout: () => {},
      mediaTimeoutMs: 5000,
    })
  const one = await open()
  const two = await open()
  t.strictSame([one.port, two.port].sort(), [first + 1, first + 3])
  await t.rejects(open(), { code: 'port_unavailable', retryable: true })
  one.close('hangup')
  one.close('hangup')
  await t.rejects(open(), { code: 'port_unavailable' }, 'at rest')
  clock.advance(30_000)
  const three = await open()
  t.equal(three.port, one.port)
  two.close('hangup')
  three.close('hangup')
})

t.test('an address of another host cannot be bound', async (t) => {
  await t.rejects(rig(t, { address: '192.0.2.1' }), { code: 'port_unavailable', retryable: false })
})

t.test('after close nothing is sent or heard', async (t) => {
  const { peer, remote, start, tick, arrived, end } = await rig(t)
  remote()
  start()
  await tick()
  peer.say(tone(500, 20))
  await arrived(1)
  end.close('hangup')
  end.flush(160)
  end.push({ pcm: tone(500, 20), rate: 8000, at: 160 })
  t.equal(end.press(['1']), false)
  t.equal(end.stats().packetsSent, 1)
})
