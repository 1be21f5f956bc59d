import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { decodeAlaw } from '../../codec/g711.js'
import { writeRtpHeader } from '../packet.js'
import type { RtpRemote } from '../remote-description.js'
import { RtpReceiver } from './receiver.js'
import { SourceLatch } from './source-latch.js'

const REMOTE: RtpRemote = {
  address: '10.0.0.9',
  port: 4000,
  codec: 'PCMA',
  payloadType: 8,
  dtmfPayloadType: 101,
  send: true,
  receive: true,
}

function rig(onDigit: (digit: string, durationMs: number) => void = () => {}) {
  const frames: { at: number; first: number; flat: boolean; power: number }[] = []
  const source = new SourceLatch()
  const receiver = new RtpReceiver(8000, source, onDigit)
  receiver.start({
    onFrame: ({ at, pcm }) => {
      let power = 0
      for (const sample of pcm) power += sample * sample
      const first = pcm[0] ?? 0
      frames.push({ at, first, flat: pcm.at(-1) === first, power })
    },
  })
  receiver.setRemote(REMOTE)
  source.setSdpAddress(REMOTE.address, REMOTE.port)
  return { receiver, frames }
}

/** Loud A-law codes. Each of 32 consecutive packets has its own level, which identifies a frame. */
const LEVELS = 32
const levels = new Int16Array(LEVELS)
decodeAlaw(
  Uint8Array.from(levels, (_, i) => 0x80 + i),
  0,
  LEVELS,
  levels,
  0,
)

function packetInto(data: Uint8Array, index: number, timestamp = index * 160): Uint8Array {
  data.fill(0x80 + (index % LEVELS), 12)
  writeRtpHeader(data, 8, false, index, timestamp, 99)
  return data
}

interface Plan {
  readonly minutes: number
  readonly ppm: number
  readonly jitterMs: number
  readonly loss: number
  readonly seed: number
}

/**
 * Runs a stream through a receiver on a virtual clock. Returns the largest distance of a frame from its
 * network time.
 */
function run(plan: Plan) {
  const { receiver, frames } = rig()
  const random = seeded(plan.seed)
  const count = plan.minutes * 3000
  const packets: { index: number; arrivalMs: number }[] = []
  for (let index = 0; index < count; index++) {
    if (random.next() < plan.loss) continue
    const sentMs = index * 20 * (1 + plan.ppm / 1e6)
    packets.push({ index, arrivalMs: sentMs + random.next() * plan.jitterMs })
  }
  packets.sort((a, b) => a.arrivalMs - b.arrivalMs)
  const out = new Int16Array(160)
  let next = 0
  for (let tick = 0; tick < count; tick++) {
    const nowMs = tick * 20 + 7
    for (let packet = packets[next]; packet && packet.arrivalMs <= nowMs; packet = packets[++next]) {
      const data = packetInto(new Uint8Array(172), packet.index)
      receiver.receive(data, REMOTE.address, REMOTE.port, packet.arrivalMs, packet.arrivalMs * 8)
    }
    receiver.pull(out, tick * 160)
    receiver.tick(nowMs, nowMs * 8)
  }
  return { receiver, frames, packets, count }
}

for (const plan of [
  { minutes: 10, ppm: 0, jitterMs: 0, loss: 0, seed: 1 },
  { minutes: 10, ppm: 100, jitterMs: 5, loss: 0, seed: 2 },
  { minutes: 10, ppm: -100, jitterMs: 5, loss: 0, seed: 3 },
  { minutes: 3, ppm: 100, jitterMs: 60, loss: 0.01, seed: 4 },
  { minutes: 3, ppm: -100, jitterMs: 20, loss: 0.03, seed: 5 },
]) {
  t.test(`frames are placed within 20 ms of their network time: ${JSON.stringify(plan)}`, (t) => {
    const { frames, receiver, packets, count } = run(plan)
    let worst = 0
    let placed = 0
    for (const { at, first, flat } of frames) {
      const level = levels.indexOf(first)
      if (level === -1 || !flat) continue // silence, or concealed
      const wire = 160 * (1 + plan.ppm / 1e6)
      // The nearest packet with this level: up to 16 packets in either direction.
      const position = at + 160 // one packet after it was spoken
      const turns = Math.round((position / wire - level) / LEVELS)
      placed++
      // The first packets may all be delayed. The undelayed ones show within a second.
      if (at >= 8000) worst = Math.max(worst, Math.abs(position - (turns * LEVELS + level) * wire))
    }
    t.ok(worst < 160, `off by ${(worst / 8).toFixed(1)} ms`)
    t.ok(placed >= packets.length * 0.995 - 12, `${placed} of ${packets.length} packets heard`)
    t.ok(frames.length >= count - 12 && frames.length <= count + 40, `${frames.length} of ${count} frames`)
    if (plan.jitterMs === 0) t.equal(receiver.concealedFrames, 0)
    t.end()
  })
}

t.test('without playout the framer counts losses and late packets, and playing begins at once', (t) => {
  const { receiver, frames } = rig()
  receiver.setPlayout(false)
  const out = new Int16Array(160)
  let now = 0
  const receive = (index: number): void => {
    receiver.receive(packetInto(new Uint8Array(172), index), REMOTE.address, REMOTE.port, now, now * 8)
  }
  for (let i = 0; i < 100; i++, now += 20) {
    if (i === 50) continue
    receive(i)
    receiver.tick(now, now * 8)
  }
  const late = 50
  receive(late)
  t.equal(receiver.concealedFrames, 1)
  t.equal(receiver.late, 1)
  t.equal(frames.length, 100)
  receiver.setPlayout(true)
  const heard: number[] = []
  for (let i = 100; i < 110; i++, now += 20) {
    receive(i)
    t.equal(receiver.pull(out, now * 8), true, 'the first frame already has audio')
    heard.push(levels.indexOf(out[159] as number))
  }
  const [first = 0] = heard
  const delayed = (100 + LEVELS - first) % LEVELS
  t.ok(Math.abs(delayed * 20 - receiver.playoutMs) <= 20, `it begins ${delayed} packets back`)
  t.strictSame(
    heard,
    heard.map((_, i) => (first + i) % LEVELS),
    'nothing is missing or repeated',
  )
  t.equal(receiver.concealedFrames, 1)
  t.end()
})

t.test('audio from before a loss is not taken for the lost audio when playing begins', (t) => {
  const { receiver } = rig()
  receiver.setPlayout(false)
  const out = new Int16Array(160)
  let now = 0
  // More than the ring holds: each sample of it was written before.
  for (let i = 0; i < 120; i++, now += 20) {
    if (i === 118) continue
    receiver.receive(packetInto(new Uint8Array(172), i), REMOTE.address, REMOTE.port, now, now * 8)
  }
  receiver.setPlayout(true)
  const heard: number[] = []
  for (let i = 0; i < 3; i++, now += 20) {
    receiver.pull(out, now * 8)
    heard.push(levels.indexOf(out[80] as number))
  }
  // The ring holds 51.2 packets: the sample at the place of the lost one belongs to packet 66 or 67.
  t.notOk(heard.includes(66 % LEVELS) || heard.includes(67 % LEVELS), `heard ${heard}`)
  t.end()
})

t.test('timestamps that stood still during silence are resynchronised', (t) => {
  const { receiver, frames } = rig()
  let now = 0
  for (let i = 0; i < 50; i++, now += 20) {
    receiver.receive(packetInto(new Uint8Array(172), i), REMOTE.address, REMOTE.port, now, now * 8)
  }
  now += 3000
  const before = frames.length
  for (let i = 50; i < 150; i++, now += 20) {
    receiver.receive(packetInto(new Uint8Array(172), i), REMOTE.address, REMOTE.port, now, now * 8)
    receiver.tick(now, now * 8)
  }
  t.ok(frames.length > before)
  const last = frames.at(-1)
  t.ok(Math.abs((last?.at ?? 0) - (now - 40) * 8) < 160, `at ${(last?.at ?? 0) / 8} of ${now - 20} ms`)
  t.end()
})

t.test('a jump of the timestamps in either direction loses no later packet', (t) => {
  for (const jump of [100_000_000, -100_000_000]) {
    const { receiver, frames } = rig()
    let now = 0
    for (let i = 0; i < 200; i++, now += 20) {
      const timestamp = (2_000_000_000 + i * 160 + (i >= 100 ? jump : 0)) >>> 0
      const data = packetInto(new Uint8Array(172), i, timestamp)
      receiver.receive(data, REMOTE.address, REMOTE.port, now, now * 8)
      receiver.tick(now, now * 8)
    }
    const last = frames.at(-1)
    t.ok(Math.abs((last?.at ?? 0) - (now - 40) * 8) < 160, `jump ${jump}: at ${(last?.at ?? 0) / 8}`)
    t.ok(frames.filter(({ power }) => power > 0).length >= 170, 'heard')
  }
  t.end()
})

t.test('random datagrams never throw', (t) => {
  const { receiver } = rig()
  const random = seeded(5)
  for (let i = 0; i < 30_000; i++) {
    const data = new Uint8Array(Math.floor(random.next() * 200))
    for (let k = 0; k < data.length; k++) data[k] = Math.floor(random.next() * 256)
    if (data.length > 1 && i % 3 > 0) {
      data[0] = 0x80
      data[1] = random.next() < 0.5 ? 8 : 101
    }
    receiver.receive(data, REMOTE.address, REMOTE.port, i * 20, i * 160)
    if (i % 5 === 0) receiver.tick(i * 20, i * 160)
  }
  t.ok(receiver.packetsReceived > 1000)
  t.end()
})

t.test('a packet allocates next to nothing', (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const source = new SourceLatch()
  const receiver = new RtpReceiver(8000, source, () => {})
  receiver.start({ onFrame: () => {} })
  receiver.setRemote(REMOTE)
  const data = new Uint8Array(172)
  const out = new Int16Array(160)
  let index = 0
  const packets = (count: number) => {
    for (const end = index + count; index < end; index++) {
      packetInto(data, index & 0xffff, (index * 160) >>> 0)
      receiver.receive(data, REMOTE.address, REMOTE.port, index * 20, index * 160)
      receiver.pull(out, index * 160)
      receiver.tick(index * 20, index * 160)
    }
  }
  packets(20_000) // lets the code be compiled
  collect()
  const before = process.memoryUsage().heapUsed
  packets(5000)
  const perPacket = (process.memoryUsage().heapUsed - before) / 5000
  // Numbers that are not small integers may be boxed. A frame, a closure or a view would need 100 bytes and
  // more.
  t.ok(perPacket < 200, `${perPacket.toFixed(0)} bytes a packet`)
  t.comment(`${perPacket.toFixed(0)} bytes a packet`)
  t.end()
})

t.test('keys on an SSRC of their own, before and beside the audio', async (t) => {
  const digits: string[] = []
  const { receiver, frames } = rig((digit, durationMs) => digits.push(`${digit} ${durationMs}`))
  const event = (sequence: number, timestamp: number, payload: string) => {
    const data = new Uint8Array(16)
    writeRtpHeader(data, 101, false, sequence, timestamp, 555)
    data.set(Buffer.from(payload, 'hex'), 12)
    return data
  }
  const key = (code: string, first: number) =>
    ['0a00a0', '0a0140', '8a01e0', '8a01e0', '8a01e0'].map((rest, i) =>
      event(first + i, first * 160, `${code}${rest}`),
    )
  let nowMs = 0
  const take = (data: Uint8Array) => {
    const taken = receiver.receive(data, REMOTE.address, REMOTE.port, nowMs, nowMs * 8)
    receiver.tick(nowMs, nowMs * 8)
    nowMs += 10
    return taken
  }
  for (const data of key('05', 10)) t.ok(take(data), 'before the audio')
  for (let index = 0; index < 10; index++) {
    t.ok(take(packetInto(new Uint8Array(172), index)), `audio ${index}`)
    const beside = key('06', 100)[index - 3]
    if (beside !== undefined) t.ok(take(beside), 'beside the audio')
    else nowMs += 10
  }
  t.strictSame(digits, ['5 60', '6 60'])
  t.equal(receiver.refused, 0)
  t.equal(receiver.lost, 0, 'their numbers are not those of the audio')
  for (let i = 0; i < 10; i++) {
    nowMs += 20
    receiver.tick(nowMs, nowMs * 8)
  }
  t.ok(frames.some(({ power }) => power > 0))
})
