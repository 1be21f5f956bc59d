import t from 'tap'
import { distance } from '../../fixtures/audio/audio-distance.js'
import { joined } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../base/frame.js'
import { RtpTimeline } from '../rtp/receive/timeline.js'
import { JitterBuffer } from './jitter-buffer.js'

const FRAME = 160

interface Sent {
  readonly index: number
  /** In samples of the receiver's clock. */
  readonly arrival: number
}

interface Plan {
  readonly phase?: number
  readonly firstTs?: number
  /** Packet size in samples at 8 kHz; 160 by default. */
  readonly size?: number
  readonly rate?: SessionRate
  /** The audio to send; by default each packet has its own level. */
  readonly wave?: Int16Array
}

/** The level of a packet: far enough from its neighbours' levels that a fade does not hit it. */
function levelOf(index: number): number {
  return 1000 + 16 * index
}

/** Plays the `sent` packets on a tick and collects the output. */
function run(sent: readonly Sent[], ticks: number, plan: Plan = {}) {
  const rate = plan.rate ?? 8000
  const size = plan.size ?? FRAME
  const jitter = new JitterBuffer(rate)
  const line = new RtpTimeline(rate)
  line.setClock(rate)
  const firstTs = plan.firstTs ?? 0
  const queue = [...sent].sort((a, b) => a.arrival - b.arrival)
  const pcm = new Int16Array(size)
  const frame = new Int16Array(rate / 50)
  const out = new Int16Array(ticks * frame.length)
  const delays: number[] = []
  let next = 0
  for (let tick = 0; tick < ticks; tick++) {
    const at = tick * frame.length + (plan.phase ?? 0)
    for (; next < queue.length; next++) {
      const packet = queue[next]
      if (packet === undefined || packet.arrival > at) break
      if (plan.wave === undefined) pcm.fill(levelOf(packet.index))
      else {
        pcm.fill(0)
        pcm.set(plan.wave.subarray(packet.index * size, (packet.index + 1) * size))
      }
      const ts = line.observe((firstTs + packet.index * size) >>> 0, packet.arrival)
      jitter.put(ts, pcm, size, Math.round(line.timestampAt(packet.arrival)))
    }
    jitter.pull(frame, Math.round(line.timestampAt(at)))
    out.set(frame, tick * frame.length)
    delays.push(jitter.delayMs)
  }
  return { jitter, out, delays, ...heardOf(out, sent) }
}

/** Returns the played packets by their levels. 5 ms at one level are no fade. */
function heardOf(out: Int16Array, sent: readonly Sent[]) {
  const known = new Set(sent.map(({ index }) => levelOf(index)))
  const heard: number[] = []
  const samples = new Map<number, number>()
  let run = 0
  for (let i = 1; i < out.length; i++) {
    const value = out[i] as number
    run = value === out[i - 1] ? run + 1 : 0
    if (run < 40 || !known.has(value)) continue
    const index = (value - 1000) / 16
    if (run === 40 && heard.at(-1) !== index) heard.push(index)
    samples.set(index, (samples.get(index) ?? 0) + 1)
  }
  return { heard, samples }
}

function count(to: number): number[] {
  return Array.from({ length: to }, (_, i) => i)
}

const steady = (packets: number, size = FRAME): Sent[] =>
  Array.from({ length: packets }, (_, index) => ({ index, arrival: index * size }))

/** Speech with pauses, long enough for the longest test. */
function speech(seconds: number): Int16Array {
  const one = joined(
    ...['test-u01-clean', 'test-u05-clean', 'test-u03-clean'].map((clip) => readClip(findClip(clip))),
  )
  const whole = new Int16Array(seconds * 8000)
  for (let i = 0; i < whole.length; i++) whole[i] = one[i % one.length] as number
  return whole
}

/** The largest second difference. A click is a corner in the waveform; speech and a sine have none. */
function sharpest(pcm: Int16Array): number {
  let most = 0
  for (let i = 2; i < pcm.length; i++) {
    most = Math.max(most, Math.abs((pcm[i] ?? 0) - 2 * (pcm[i - 1] ?? 0) + (pcm[i - 2] ?? 0)))
  }
  return most
}

t.test('a steady stream plays completely, in order, 40 ms late', (t) => {
  const { heard, jitter, out } = run(steady(50), 50)
  t.strictSame(heard, count(48))
  t.equal(out.findIndex((value) => value !== 0) / FRAME, 2)
  t.equal(out.subarray(320).filter((value, i) => value !== levelOf(Math.floor(i / FRAME))).length, 0)
  t.match(jitter, { late: 0, concealed: 0, insertedMs: 0, discardedMs: 0 })
  t.end()
})

t.test('a wrap of the timestamps changes nothing', (t) => {
  const { heard, jitter } = run(steady(300), 300, { firstTs: 0xffffffff - 100 * FRAME })
  t.strictSame(heard.slice(0, 298), count(298))
  t.match(jitter, { late: 0, concealed: 0 })
  t.end()
})

t.test('without jitter the delay shrinks to 21 ms within seconds, without a loss', (t) => {
  const { jitter, delays, samples } = run(steady(500), 500, { phase: 90 })
  t.ok(jitter.targetMs === 21 && (delays.at(-1) ?? 99) <= 34, `${delays.at(-1)} ms`)
  t.ok(jitter.discardedMs > 10 && jitter.discardedMs < 40)
  t.equal(count(490).filter((index) => (samples.get(index) ?? 0) < 20).length, 0)
  t.end()
})

t.test('reordered and duplicated packets play once and in order', (t) => {
  const random = seeded(3)
  const sent: Sent[] = []
  for (let index = 0; index < 500; index++) {
    const arrival = index * FRAME + (random.next() < 0.2 ? random.next() * 2 * FRAME : 0)
    sent.push({ index, arrival })
    if (random.next() < 0.1) sent.push({ index, arrival: arrival + random.next() * 50 })
  }
  const { heard, jitter } = run(sent, 520)
  t.strictSame(
    heard,
    [...new Set(heard)].sort((a, b) => a - b),
  )
  t.ok(heard.length >= 497, `${heard.length} of 500 played`)
  t.ok(jitter.targetMs > 40, 'it grew')
  t.end()
})

for (const percent of [1, 3, 10]) {
  t.test(`${percent} % loss: exactly the lost audio is concealed`, (t) => {
    const random = seeded(percent)
    const sent = steady(1000).filter(() => random.next() >= percent / 100)
    const { heard, jitter } = run(sent, 1002)
    const lost = 1000 - sent.length
    t.ok(heard.length >= sent.length - 2, `${heard.length} of ${sent.length} played`)
    t.ok(jitter.concealed <= lost + 4, `${jitter.concealed} concealed`)
    t.ok(jitter.concealed >= lost * 0.9, `${jitter.concealed} concealed`)
    t.ok(jitter.delayMs <= 50, `the delay is ${jitter.delayMs} ms`)
    t.end()
  })
}

for (const rate of [8000, 16000] as const) {
  for (const jitterMs of [20, 60, 120]) {
    t.test(`jitter of ${jitterMs} ms is compensated at once, at ${rate} Hz`, (t) => {
      const random = seeded(jitterMs)
      const size = rate / 50
      const sent = Array.from({ length: 1500 }, (_, index) => ({
        index,
        arrival: index * size + (random.next() * jitterMs * rate) / 1000,
      }))
      const { jitter, heard } = run(sent, 1510, { rate, size })
      t.ok(
        jitter.targetMs >= Math.min(150, jitterMs) && jitter.targetMs <= jitterMs + 30,
        `target ${jitter.targetMs}`,
      )
      t.ok(heard.length >= 1480, `${heard.length} of 1500 played`)
      t.ok(jitter.late < 15, `${jitter.late} late`)
      t.ok(jitter.concealed < 25, `${jitter.concealed} concealed`)
      t.end()
    })
  }
}

t.test('a packet that is too late is counted and not played', (t) => {
  const sent = steady(50).map((packet) =>
    packet.index === 20 ? { index: 20, arrival: packet.arrival + 1600 } : packet,
  )
  const { heard, jitter } = run(sent, 50)
  t.notOk(heard.includes(20))
  t.equal(jitter.late, 1)
  t.end()
})

t.test('after a stall of 300 ms everything is played, and the delay shrinks within seconds', (t) => {
  const wave = speech(12)
  const sent = steady(600).map((packet) =>
    packet.index >= 100 && packet.index < 115 ? { index: packet.index, arrival: 115 * FRAME } : packet,
  )
  const { jitter, delays, out } = run(sent, 598, { wave })
  t.equal(jitter.late, 0)
  const most = Math.max(...delays)
  t.ok(most > 250 && most < 420, `up to ${most} ms`)
  const after = [1, 2, 9].map((second) => delays[115 + 50 * second] ?? 999)
  t.ok(
    (after[0] ?? 0) <= 200 && (after[1] ?? 0) <= 160 && (after[2] ?? 0) <= 40,
    `${after} ms after 1, 2, 9 s`,
  )
  t.ok(jitter.concealed <= 4, `${jitter.concealed} made up while nothing was there`)
  t.ok(sharpest(out) <= sharpest(wave) * 1.1, `no corner: ${sharpest(out)} of ${sharpest(wave)}`)
  t.ok(jitter.targetMs <= 160)
  t.end()
})

t.test('a pause of the sender is silence; its next speech has the usual delay', (t) => {
  // Speech, then two seconds without packets (DTX): sequence numbers continue, timestamps jump.
  const sent = steady(200).filter(({ index }) => index < 50 || index >= 150)
  const { heard, jitter, out } = run(sent, 200)
  t.strictSame(
    heard.slice(0, 98),
    sent.map(({ index }) => index).filter((index) => index < 198),
  )
  t.ok(jitter.concealed <= 3)
  t.equal(
    out.subarray(60 * FRAME, 150 * FRAME).findIndex((value) => value !== 0),
    -1,
    'silence between',
  )
  t.equal(jitter.late, 0)
  t.ok(jitter.delayMs <= 50)
  t.end()
})

t.test('after jitter ends the delay shrinks by 20 ms per second', (t) => {
  const random = seeded(9)
  const sent = Array.from({ length: 1500 }, (_, index) => ({
    index,
    arrival: index * FRAME + (index < 200 ? random.next() * 640 : 0),
  }))
  const { jitter, delays } = run(sent, 1500, { wave: speech(30) })
  t.ok(Math.max(...delays) >= 80, `${Math.max(...delays)} ms at most`)
  t.equal(jitter.targetMs, 21)
  t.ok(jitter.delayMs <= 34, `${jitter.delayMs} ms in the end`)
  t.end()
})

for (const rate of [8000, 16000] as const) {
  for (const ppm of [100, -100, 400]) {
    t.test(
      `a sender clock off by ${ppm} ppm, at ${rate} Hz: no underrun, no growing delay, no click`,
      (t) => {
        const size = rate / 50
        const seconds = 300
        const hz = 210
        const wave = Int16Array.from(
          { length: seconds * rate },
          (_, i) => 9000 * Math.sin((2 * Math.PI * hz * i) / rate),
        )
        const sent = Array.from({ length: seconds * 50 }, (_, index) => ({
          index,
          arrival: index * size * (1 + ppm / 1e6),
        }))
        const ticks = seconds * 50 - 10
        const { jitter, out, delays } = run(sent, ticks, { rate, size, wave })
        t.match(jitter, { late: 0, concealed: 0 })
        const after = delays.slice(1000)
        t.ok(
          Math.max(...after) <= 35 && Math.min(...after) >= 5,
          `${Math.min(...after)}-${Math.max(...after)} ms`,
        )
        const drifted = (seconds * 1000 * ppm) / 1e6
        const stretched = jitter.insertedMs - jitter.discardedMs
        t.ok(Math.abs(stretched - drifted) < 45, `${stretched} ms in and out for ${drifted} of drift`)
        // The sine itself has a second difference of (2 pi f / rate)^2 of its level.
        const natural = 9000 * ((2 * Math.PI * hz) / rate) ** 2
        const steady = out.subarray(rate, out.length)
        t.ok(sharpest(steady) < 1.35 * natural + 4, `corners of ${sharpest(steady)} by ${natural.toFixed(0)}`)
        t.end()
      },
    )
  }
}

t.test('speech with clock drift is played unchanged', (t) => {
  const wave = speech(60)
  const sent = Array.from({ length: 3000 }, (_, index) => ({
    index,
    arrival: index * FRAME * (1 - 200 / 1e6),
  }))
  const { out, jitter } = run(sent, 2990, { wave })
  t.ok(jitter.discardedMs > 10, `${jitter.discardedMs} ms left out`)
  t.ok(sharpest(out) <= sharpest(wave) * 1.02, 'no click')
  // Equal samples before the first discarded period and after the last one.
  const first = distance(wave, out.subarray(320), { include: (f) => f < 45 })
  t.equal(first.segmentalSnrDb, 35)
  t.end()
})

t.test('packets of 10, 30, 40 and 60 ms', (t) => {
  for (const rate of [8000, 16000] as const) {
    for (const ms of [10, 30, 40, 60]) {
      const size = (ms * rate) / 1000
      const wave = Int16Array.from({ length: 2 * rate }, (_, i) => (i % 30_000) + 1)
      const { out, jitter } = run(steady(Math.floor(rate / size), size), 48, { rate, size, wave })
      const from = out.findIndex((value) => value !== 0)
      const whole = out.subarray(from, Math.floor(0.85 * rate))
      t.ok(
        whole.every((value, i) => value === wave[i]),
        `${ms} ms at ${rate}: sample for sample`,
      )
      t.match(jitter, { late: 0, concealed: 0 })
    }
  }
  t.end()
})

t.test('a lost packet of 10 or 30 ms is concealed from both sides', (t) => {
  for (const size of [80, 240]) {
    const wave = Int16Array.from(
      { length: 16_000 },
      (_, i) => 9000 * Math.sin((2 * Math.PI * 200 * i) / 8000),
    )
    const sent = steady(Math.floor(8000 / size), size).filter(({ index }) => index !== 20)
    const { out } = run(sent, 45, { size, wave })
    const from = out.findIndex((value) => value !== 0) - 1
    const worst = out
      .subarray(from, 7000)
      .reduce((most, v, i) => Math.max(most, Math.abs(v - (wave[i] ?? 0))), 0)
    t.ok(worst < (size === 80 ? 500 : 2500), `${size}: off by ${worst} of 9000`)
  }
  t.end()
})

t.test('after a forward jump of the stream playout continues there', (t) => {
  const jitter = new JitterBuffer()
  const out = new Int16Array(FRAME)
  const pcm = new Int16Array(FRAME).fill(7)
  jitter.put(0, pcm, FRAME, 0)
  jitter.put(1_000_000, pcm, FRAME, 1_000_000)
  t.equal(jitter.pull(out, 1_000_000 + 320), true)
  t.equal(out[0], 7)
  t.end()
})

t.test('a new stream in the middle of audio is cross-faded with the old one', (t) => {
  const jitter = new JitterBuffer()
  const out = new Int16Array(FRAME)
  const tone = (from: number) =>
    Int16Array.from({ length: FRAME }, (_, i) => 9000 * Math.sin((2 * Math.PI * 300 * (from + i)) / 8000))
  const played: number[] = []
  let ts = 5000
  for (let tick = 0; tick < 40; tick++) {
    // Halfway another sender takes over, at another phase of the sine.
    if (tick === 20) {
      jitter.flush()
      ts = 90_000
    }
    jitter.put(ts, tone(tick * FRAME + (tick >= 20 ? 13 : 0)), FRAME, ts)
    jitter.pull(out, ts)
    played.push(...out)
    ts += FRAME
  }
  const natural = 9000 * ((2 * Math.PI * 300) / 8000) ** 2
  const steady = Int16Array.from(played.slice(5 * FRAME))
  t.ok(sharpest(steady) < 2 * natural, `corners of ${sharpest(steady)} by ${natural.toFixed(0)}`)
  t.ok(jitter.concealed >= 1 && jitter.concealed <= 3)
  t.end()
})

t.test('after any disturbance a steady stream again plays sample by sample', (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seeded(seed)
    const jitter = new JitterBuffer(seed % 2 === 0 ? 8000 : 16000)
    const size = seed % 2 === 0 ? 160 : 320
    const frame = new Int16Array(size)
    const any = new Int16Array(2000)
    let now = 2 ** 32
    for (let i = 0; i < 500; i++) {
      // Packets of any length, from long ago to 200 ms ahead (RtpTimeline treats later ones as another
      // stream), frequent gaps, skipped ticks and new streams.
      const far = random.next() < 0.05 ? 1_000_000 : 3000
      const length = 1 + Math.floor(random.next() * any.length)
      const age = Math.max(-10 * size, Math.floor((random.next() - 0.2) * far))
      if (random.next() < 0.7) jitter.put(now - age, any, length, now)
      if (random.next() < 0.02) jitter.flush()
      if (random.next() < 0.9) jitter.pull(frame, now)
      now += random.next() < 0.02 ? 20 * size : size
    }
    t.ok(jitter.targetMs >= 21 && jitter.targetMs <= 160 && Number.isFinite(jitter.delayMs))
    // Every sample is unique, so that the output shows its position in the input.
    const base = now + 100_000
    const played: number[] = []
    for (let i = 0; i < 700; i++) {
      const pcm = Int16Array.from({ length: size }, (_, k) => ((i * size + k) % 30_000) + 1)
      jitter.put(base + i * size, pcm, size, base + i * size)
      jitter.pull(frame, base + i * size)
      if (i >= 600) played.push(...frame)
    }
    const steps = played.slice(1).filter((value, i) => value - (played[i] ?? 0) !== 1 && value !== 1)
    t.strictSame(steps, [], `seed ${seed}`)
    t.ok(jitter.delayMs >= 20 && jitter.delayMs <= 34, `${jitter.delayMs} ms in the end`)
  }
  t.end()
})
