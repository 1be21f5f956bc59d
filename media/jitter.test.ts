import t from 'tap'
import { seeded } from '../fixtures/random.js'
import { JitterBuffer } from './jitter.js'
import { RtpTimeline } from './rtp/timeline.js'

const FRAME = 160

interface Sent {
  readonly index: number
  readonly arrival: number
}

/** Plays `sent` packets (each filled with a sample naming it) on a beat and collects what comes out. */
function run(
  sent: readonly Sent[],
  beats: number,
  options: { phase?: number; firstTs?: number; silentFrom?: number } = {},
) {
  const jitter = new JitterBuffer()
  const line = new RtpTimeline()
  const firstTs = options.firstTs ?? 0
  const queue = [...sent].sort((a, b) => a.arrival - b.arrival)
  const pcm = new Int16Array(FRAME)
  const out = new Int16Array(FRAME)
  const played: (number | null)[] = []
  let next = 0
  for (let beat = 0; beat < beats; beat++) {
    const at = beat * FRAME + (options.phase ?? 0)
    for (; next < queue.length; next++) {
      const packet = queue[next]
      if (packet === undefined || packet.arrival > at) break
      const quiet = packet.index >= (options.silentFrom ?? Number.POSITIVE_INFINITY)
      pcm.fill(quiet ? 0 : 1000 + packet.index)
      const ts = line.observe((firstTs + packet.index * FRAME) >>> 0, packet.arrival)
      jitter.put(ts, pcm, FRAME, Math.round(line.timestampAt(packet.arrival)))
    }
    const sounding = jitter.pull(out, Math.round(line.timestampAt(at)))
    // A frame counts as played when it is whole; made-up sound fades and is not.
    const whole = out.every((value) => value === out[0])
    played.push(sounding && whole && !(out[0] === 0) ? (out[0] as number) - 1000 : null)
  }
  return { jitter, played, heard: played.filter((index) => index !== null) }
}

const steady = (count: number): Sent[] =>
  Array.from({ length: count }, (_, index) => ({ index, arrival: index * FRAME }))

t.test('a steady stream plays whole, in order, 40 ms late', (t) => {
  const { played, heard, jitter } = run(steady(100), 100)
  t.strictSame(
    heard,
    Array.from({ length: 98 }, (_, i) => i),
  )
  t.equal(played.indexOf(0), 2)
  t.equal(jitter.late, 0)
  t.equal(jitter.concealed, 0)
  t.end()
})

t.test('timestamps that wrap change nothing', (t) => {
  const { heard } = run(steady(300), 300, { firstTs: 0xffffffff - 100 * FRAME })
  t.strictSame(
    heard,
    Array.from({ length: 298 }, (_, i) => i),
  )
  t.end()
})

t.test('reordered and doubled packets play once and in order', (t) => {
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
  t.ok(heard.length >= 495, `${heard.length} of 500 played`)
  t.ok(jitter.targetMs > 40, 'it grew')
  t.end()
})

for (const [percent, allowed] of [
  [1, 0],
  [3, 0],
  [10, 0],
] as const) {
  t.test(`${percent} % loss conceals what is lost and no more`, (t) => {
    const random = seeded(percent)
    const sent = steady(1000).filter(() => random.next() >= percent / 100)
    const { heard, jitter } = run(sent, 1002)
    t.equal(heard.length, sent.length)
    t.ok(jitter.concealed <= 1000 - sent.length + 3 + allowed, `${jitter.concealed} concealed`)
    t.ok(jitter.concealed >= (1000 - sent.length) * 0.9, `${jitter.concealed} concealed`)
    t.end()
  })
}

for (const jitterMs of [20, 60, 100]) {
  t.test(`jitter of ${jitterMs} ms is learned`, (t) => {
    const random = seeded(jitterMs)
    const sent = Array.from({ length: 2000 }, (_, index) => ({
      index,
      arrival: index * FRAME + random.next() * jitterMs * 8,
    }))
    const { heard, jitter } = run(sent, 2010)
    t.ok(jitter.targetMs >= Math.min(120, jitterMs) && jitter.targetMs <= 120, `target ${jitter.targetMs}`)
    t.ok(heard.length > 1980, `${heard.length} of 2000 played`)
    t.ok(jitter.late < 20, `${jitter.late} late`)
    t.end()
  })
}

t.test('a packet too late is counted and not played', (t) => {
  const sent = steady(50).map((packet) =>
    packet.index === 20 ? { index: 20, arrival: packet.arrival + 1600 } : packet,
  )
  const { heard, jitter } = run(sent, 50)
  t.notOk(heard.includes(20))
  t.equal(jitter.late, 1)
  t.end()
})

t.test('a stall of 300 ms costs what was late; the delay stays bounded', (t) => {
  const sent = steady(300).map((packet) =>
    packet.index >= 100 && packet.index < 115 ? { index: packet.index, arrival: 115 * FRAME } : packet,
  )
  const { heard, jitter } = run(sent, 310)
  t.equal(heard.at(-1), 299)
  t.ok(heard.length >= 280, `${heard.length} played`)
  t.ok(jitter.targetMs <= 120)
  t.end()
})

t.test('in silence the delay shrinks back, one frame in two seconds', (t) => {
  const random = seeded(9)
  const sent = Array.from({ length: 1500 }, (_, index) => ({
    index,
    arrival: index * FRAME + (index < 200 ? random.next() * 640 : 0),
  }))
  const { jitter } = run(sent, 1500, { silentFrom: 200 })
  t.ok(jitter.targetMs <= 40, `target ${jitter.targetMs}`)
  t.end()
})

for (const ppm of [100, -100]) {
  t.test(`a sender off by ${ppm} ppm never runs dry nor piles up`, (t) => {
    const sent = Array.from({ length: 15_000 }, (_, index) => ({
      index: index % 20_000,
      arrival: index * FRAME * (1 + ppm / 1e6),
    }))
    const { heard, jitter } = run(sent, 15_000)
    t.ok(heard.length > 14_980, `${heard.length} played`)
    t.ok(jitter.late <= 2, `${jitter.late} late`)
    t.end()
  })
}

t.test('other packet sizes', (t) => {
  for (const size of [80, 240, 480]) {
    const jitter = new JitterBuffer()
    const out = new Int16Array(FRAME)
    let sent = 0
    let expected = 1
    for (let at = 0; at < 16_000; at += FRAME) {
      for (; sent + size <= at; sent += size) {
        const pcm = Int16Array.from({ length: size }, (_, i) => sent + i + 1)
        jitter.put(1000 + sent, pcm, size, 1000 + sent)
      }
      if (!jitter.pull(out, 1000 + at)) continue
      for (const value of out) if (value !== expected++) throw new Error(`size ${size}: ${value} at ${at}`)
    }
    t.ok(expected > 14_000, `size ${size}`)
  }
  t.end()
})

t.test('a forward jump of the stream plays on from there', (t) => {
  const jitter = new JitterBuffer()
  const out = new Int16Array(FRAME)
  const pcm = new Int16Array(FRAME).fill(7)
  jitter.put(0, pcm, FRAME, 0)
  jitter.put(1_000_000, pcm, FRAME, 1_000_000)
  t.equal(jitter.pull(out, 1_000_000 + 320), true)
  t.equal(out[0], 7)
  t.end()
})
