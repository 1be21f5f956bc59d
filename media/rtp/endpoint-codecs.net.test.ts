import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { joined, levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import type { SessionRate } from '../base/frame.js'
import { silentLog } from '../base/log.js'
import type { CodecName, Ptime } from '../codec/codec.js'
import { CODEC_NAMES, codecOf } from '../codec/registry.js'
import { openRtpEndpoint, type RtpEndpoint } from './endpoint.js'
import { RtpPacket, writeRtpHeader } from './packet.js'
import { RtpPorts } from './port.js'
import type { ReceiveFormat } from './remote-description.js'

assertNothingLeft(t)

const SECONDS = 0.96
const FRAMES = SECONDS * 50
const LOW_HZ = 1000
const HIGH_HZ = 5000
const AMPLITUDE = 0.25
/** Different payload types in each direction, so that a mix-up shows. */
const THEIRS = 121
const OURS = 120

async function until(what: string, ready: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!ready()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

/** Two tones. Narrowband carries only the lower one. */
function twoTones(rate: number): Int16Array {
  const low = tone(LOW_HZ, SECONDS * 1000, rate, AMPLITUDE)
  if (rate < 16_000) return low
  const high = tone(HIGH_HZ, SECONDS * 1000, rate, AMPLITUDE)
  return low.map((sample, i) => sample + (high[i] ?? 0))
}

interface Sent {
  readonly packet: RtpPacket
  readonly payload: Uint8Array
}

interface Leg {
  readonly end: RtpEndpoint
  readonly clock: VirtualClock
  readonly peerPort: number
  readonly got: Sent[]
  /** All received audio: as packets arrived, and after the jitter buffer. */
  readonly arrived: Int16Array[]
  readonly played: Int16Array[]
  send(bytes: Uint8Array): void
  /** Runs one tick with this audio to send. Resolves when the packets sent in it have arrived. */
  tick(pcm: Int16Array | null): Promise<void>
}

async function leg(
  t: Test,
  codec: CodecName,
  session: SessionRate,
  ptime: Ptime,
  hears: readonly ReceiveFormat[] = [{ payloadType: OURS, kind: 'audio', codec }],
  digit: (digit: string, durationMs: number) => void = () => {},
): Promise<Leg> {
  const clock = new VirtualClock({ nowMs: 5000 })
  const end = await openRtpEndpoint({
    id: 'leg',
    address: '127.0.0.1',
    ports: new RtpPorts(clock),
    portRange: null,
    rate: session,
    clock,
    log: silentLog,
    onDigit: null,
    onTimeout: () => {},
    mediaTimeoutMs: 60_000,
  })
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const got: Sent[] = []
  socket.on('message', (data) => {
    const packet = new RtpPacket()
    if (!packet.parse(data)) throw new Error('no RTP')
    got.push({ packet, payload: Uint8Array.from(data.subarray(packet.payloadOffset)) })
  })
  t.teardown(async () => {
    end.close('hangup')
    const closed = once(socket, 'close')
    socket.close()
    await closed
  })
  const arrived: Int16Array[] = []
  const played: Int16Array[] = []
  end.setRemote({
    address: '127.0.0.1',
    port: socket.address().port,
    codec,
    payloadType: THEIRS,
    ptime,
    dtmfPayloadType: null,
    receiveFormats: hears,
    send: true,
    receive: true,
  })
  end.start(clock.now(), { onFrame: (frame) => arrived.push(frame.pcm.slice()), onDigit: digit })
  const samples = session / 50
  let at = 0
  return {
    end,
    clock,
    peerPort: socket.address().port,
    got,
    arrived,
    played,
    send: (bytes) => socket.send(bytes, end.port, '127.0.0.1'),
    async tick(pcm) {
      const frame = new Int16Array(samples)
      end.pull(frame, at)
      played.push(frame)
      if (pcm !== null) end.push({ pcm, rate: session, at })
      end.flush(at)
      at += samples
      clock.advance(20)
      await until('packets of the leg', () => got.length >= end.stats().packetsSent)
    },
  }
}

/** The position in the peer's stream. */
interface Stream {
  sequence: number
  timestamp: number
}

/** The peer sends the tones in this codec. A packet leaves when its last sample was spoken. */
async function speak(
  to: Leg,
  codec: CodecName,
  ptime: Ptime,
  payloadType = OURS,
  stream: Stream = { sequence: 7, timestamp: 99 },
): Promise<void> {
  const { clockRate, openEncoder, maxBytes } = codecOf(codec)
  const encoder = openEncoder({ session: 16_000, ptime, parameters: {} })
  const pcm = twoTones(encoder.rate)
  const size = (encoder.rate / 1000) * ptime
  const packet = new Int16Array(size)
  const first = to.end.stats().packetsReceived
  let sent = 0
  for (let frame = 1; frame <= FRAMES; frame++) {
    while ((sent + 1) * ptime <= frame * 20) {
      packet.set(pcm.subarray(sent * size, (sent + 1) * size))
      const bytes = new Uint8Array(12 + maxBytes(ptime))
      const length = encoder.encode(packet, bytes, 12)
      writeRtpHeader(bytes, payloadType, sent === 0, stream.sequence++, stream.timestamp, 0xabc)
      stream.timestamp += (ptime * clockRate) / 1000
      to.send(bytes.subarray(0, 12 + length))
      sent++
      await until('a packet of the peer', () => to.end.stats().packetsReceived === first + sent)
    }
    await to.tick(null)
  }
}

function check(t: Test, what: string, pcm: Int16Array, rate: number, wide: boolean): void {
  // The middle part: the start of a stream has the delays of filters, jitter buffer and codec.
  const middle = pcm.subarray(rate * 0.3, rate * 0.8)
  const low = 20 * Math.log10(toneLevel(middle, LOW_HZ, rate) / AMPLITUDE)
  t.ok(Math.abs(low) < 1, `${what}: ${LOW_HZ} Hz at ${low.toFixed(2)} dB`)
  if (rate < 16_000) return
  const high = 20 * Math.log10(toneLevel(middle, HIGH_HZ, rate) / AMPLITUDE)
  t.ok(wide ? Math.abs(high) < 2 : high < -40, `${what}: ${HIGH_HZ} Hz at ${high.toFixed(1)} dB`)
}

for (const codec of CODEC_NAMES) {
  const { ptimes, clockRate, wideband, openDecoder } = codecOf(codec)
  for (const session of [8000, 16_000] as const) {
    t.test(`${codec} in a session of ${session} Hz`, async (t) => {
      const wide = wideband && session === 16_000
      for (const ptime of ptimes) {
        const name = `${ptime} ms`
        const one = await leg(t, codec, session, ptime)
        const pcm = twoTones(session)
        for (let i = 0; i < FRAMES; i++) {
          await one.tick(pcm.slice((i * session) / 50, ((i + 1) * session) / 50))
        }
        const first = one.got[0]?.packet ?? new RtpPacket()
        t.equal(one.got.length, (SECONDS * 1000) / ptime, `${name}: packets`)
        t.ok(
          one.got.every(
            ({ packet }, i) =>
              packet.payloadType === THEIRS &&
              packet.marker === (i === 0) &&
              packet.sequence === ((first.sequence + i) & 0xffff) &&
              (packet.timestamp - first.timestamp) >>> 0 === (i * ptime * clockRate) / 1000,
          ),
          `${name}: numbers, timestamps and markers`,
        )
        if (codec !== 'OPUS') {
          const bytes = codecOf(codec).maxBytes(ptime)
          t.ok(
            one.got.every(({ payload }) => payload.length === bytes),
            `${name}: ${bytes} bytes each`,
          )
        }
        const decoder = openDecoder(16_000)
        const out = new Int16Array(1920)
        const heard = one.got.map(({ payload }) =>
          out.slice(0, decoder.decode(payload, 0, payload.length, out)),
        )
        check(t, `${name} out`, joined(...heard), decoder.rate, wide)

        const two = await leg(t, codec, session, ptime)
        await speak(two, codec, ptime)
        check(t, `${name} in, as it comes`, joined(...two.arrived), session, wide)
        check(t, `${name} in, played`, joined(...two.played), session, wide)
        t.match(two.end.stats(), { lost: 0, late: 0, refused: 0, jitterMs: Number })
      }
    })
  }
}

const EVERYTHING: readonly ReceiveFormat[] = CODEC_NAMES.map((codec, i) => ({
  payloadType: 100 + i,
  kind: 'audio',
  codec,
}))

t.test('a peer may switch between agreed codecs without notice', async (t) => {
  const one = await leg(t, 'PCMA', 16_000, 20, EVERYTHING)
  const stream = { sequence: 65_500, timestamp: 4_294_960_000 }
  for (const codec of ['PCMA', 'G722', 'OPUS', 'L16', 'PCMU', 'G722'] as const) {
    one.arrived.length = 0
    one.played.length = 0
    await speak(one, codec, 20, 100 + CODEC_NAMES.indexOf(codec), stream)
    check(t, `${codec}, as it comes`, joined(...one.arrived), 16_000, codecOf(codec).wideband)
    check(t, `${codec}, played`, joined(...one.played), 16_000, codecOf(codec).wideband)
    const gaps = one.arrived.slice(2).filter((frame) => frame.every((sample) => sample === 0)).length
    t.equal(gaps, 0, `${codec}: no frame of silence`)
  }
  t.match(one.end.stats(), { refused: 0, lost: 0 })
})

t.test('a re-INVITE changes the sent format from the next packet on', async (t) => {
  const one = await leg(t, 'PCMA', 16_000, 20, EVERYTHING)
  const pcm = twoTones(16_000)
  const say = async (frames: number) => {
    for (let i = 0; i < frames; i++) await one.tick(pcm.slice(i * 320, (i + 1) * 320))
  }
  await say(10)
  const before = one.got.at(-1)?.packet ?? new RtpPacket()
  const remote = {
    address: '127.0.0.1',
    port: one.peerPort,
    dtmfPayloadType: null,
    hears: EVERYTHING,
    send: true,
    receive: true,
  }
  one.end.setRemote({ ...remote, codec: 'OPUS', payloadType: 111, ptime: 40 })
  const opusFrom = one.got.length
  await say(40)
  const opus = one.got.slice(opusFrom).map(({ packet }) => packet)
  t.equal(opus.length, 20)
  t.ok(opus.every(({ payloadType, ssrc }) => payloadType === 111 && ssrc === before.ssrc))
  t.equal(opus[0]?.sequence, (before.sequence + 1) & 0xffff, 'the sequence goes on')
  t.ok(opus.every((packet, i) => (packet.timestamp - (opus[0]?.timestamp ?? 0)) >>> 0 === i * 1920))
  one.end.setRemote({ ...remote, codec: 'G722', payloadType: 9 })
  const g722From = one.got.length
  await say(40)
  const decoder = codecOf('G722').openDecoder(16_000)
  const out = new Int16Array(1920)
  const heard = one.got
    .slice(g722From)
    .map(({ payload }) => out.slice(0, decoder.decode(payload, 0, payload.length, out)))
  check(t, 'G722', joined(...heard), 16_000, true)
})

t.test('silence is sent as comfort noise if the peer agreed, in both directions', async (t) => {
  const hears: readonly ReceiveFormat[] = [
    { payloadType: OURS, kind: 'audio', codec: 'PCMA' },
    { payloadType: 13, kind: 'noise' },
  ]
  const one = await leg(t, 'PCMA', 8000, 40, hears)
  one.end.setRemote({
    address: '127.0.0.1',
    port: one.peerPort,
    codec: 'PCMA',
    payloadType: THEIRS,
    ptime: 40,
    dtmfPayloadType: null,
    noisePayloadType: 13,
    receiveFormats: hears,
    send: true,
    receive: true,
  })
  const sound = tone(LOW_HZ, 20)
  // Three frames fill one and a half packets. The second packet is completed with silence.
  for (let i = 0; i < 3; i++) await one.tick(sound)
  for (let i = 0; i < 21; i++) await one.tick(null)
  await one.tick(sound)
  await one.tick(sound)
  t.strictSame(
    one.got.map(({ packet, payload }) => [packet.payloadType, payload.length, packet.marker]),
    [
      [THEIRS, 320, true],
      [THEIRS, 320, false],
      [13, 1, false],
      [13, 1, false],
      [THEIRS, 320, true],
    ],
  )
  const times = one.got.map(({ packet }) => (packet.timestamp - (one.got[0]?.packet.timestamp ?? 0)) >>> 0)
  t.strictSame(times, [0, 320, 640, 640 + 1600, 24 * 160])

  const stream = { sequence: 1, timestamp: 0 }
  await speak(one, 'PCMA', 20, OURS, stream)
  const noise = Uint8Array.from([...new Array<number>(12).fill(0), 40])
  writeRtpHeader(noise, 13, false, stream.sequence++, stream.timestamp, 0xabc)
  one.send(noise)
  await until('comfort noise', () => one.end.stats().packetsReceived === FRAMES + 1)
  for (let i = 0; i < 10; i++) await one.tick(null)
  one.played.length = 0
  one.arrived.length = 0
  for (let i = 0; i < 40; i++) await one.tick(null)
  const level = levelDbfs(joined(...one.played))
  t.ok(Math.abs(level + 40) < 1.5, `played at ${level.toFixed(1)} dBFS`)
  t.ok(levelDbfs(joined(...one.arrived)) < -100, 'who listens for speech hears silence')
  stream.timestamp += 50 * 160
  await speak(one, 'PCMA', 20, OURS, stream)
  one.played.length = 0
  for (let i = 0; i < 20; i++) await one.tick(null)
  t.ok(levelDbfs(joined(...one.played.slice(10))) < -100, 'and no noise any more once it spoke again')
  t.match(one.end.stats(), { lost: 0, refused: 0 })
})

t.test('digits beside Opus use its clock, or 8 kHz if the peer knows no other', async (t) => {
  for (const clockRate of [48_000, 8000] as const) {
    const digits: string[] = []
    const hears: readonly ReceiveFormat[] = [
      { payloadType: OURS, kind: 'audio', codec: 'OPUS' },
      { payloadType: 101, kind: 'event', clockRate },
    ]
    const one = await leg(t, 'OPUS', 16_000, 20, hears, (digit, ms) => digits.push(`${digit} ${ms}`))
    one.end.setRemote({
      address: '127.0.0.1',
      port: one.peerPort,
      codec: 'OPUS',
      payloadType: THEIRS,
      dtmfPayloadType: 102,
      ...(clockRate === 8000 && { dtmfClockRate: clockRate }),
      receiveFormats: hears,
      send: true,
      receive: true,
    })
    t.ok(one.end.press(['7']))
    for (let i = 0; i < 12; i++) await one.tick(null)
    const events = one.got.filter(({ packet }) => packet.payloadType === 102)
    t.equal(events.length, 11)
    t.equal(new Set(events.map(({ packet }) => packet.timestamp)).size, 1)
    const last = events.at(-1)?.payload ?? new Uint8Array(4)
    t.equal(((last[2] ?? 0) << 8) | (last[3] ?? 0), (160 * clockRate) / 1000, 'eight frames of 20 ms')
    const sound = one.got.find(({ packet }) => packet.payloadType === THEIRS)?.packet
    t.equal(((sound?.timestamp ?? 0) - (events[0]?.packet.timestamp ?? 0)) >>> 0, 11 * 960)

    for (let i = 1; i <= 7; i++) {
      const bytes = new Uint8Array(16)
      const duration = (Math.min(i, 5) * 20 * clockRate) / 1000
      bytes.set([7, (i >= 5 ? 0x80 : 0) | 10, duration >> 8, duration & 255], 12)
      writeRtpHeader(bytes, 101, i === 1, i, 96_000, 0xabc)
      one.send(bytes)
    }
    await until('events', () => one.end.stats().packetsReceived === 7)
    t.strictSame(digits, ['7 100'])
  }
})
