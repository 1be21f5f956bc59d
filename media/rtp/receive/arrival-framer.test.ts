import t from 'tap'
import { ArrivalFramer } from './arrival-framer.js'

const FRAME = 160
const BEHIND = 480

interface Delivered {
  readonly at: number
  readonly first: number
  readonly last: number
}

function rig(rate: 8000 | 16000 = 8000) {
  const delivered: Delivered[] = []
  const framer = new ArrivalFramer(rate)
  framer.start({
    onFrame: (frame) => {
      t.equal(frame.pcm.length, rate / 50)
      delivered.push({ at: frame.at, first: frame.pcm[0] ?? 0, last: frame.pcm.at(-1) ?? 0 })
    },
  })
  const frame = rate / 50
  const pcm = new Int16Array(frame)
  return {
    delivered,
    framer,
    packet: (index: number, now: number, value = 1000 + index) => {
      framer.put(100 + index, index * frame, pcm.fill(value), frame, now)
    },
    firsts: () => delivered.map((frame) => frame.first),
    positions: () => delivered.map((frame) => frame.at / (rate / 50)),
  }
}

t.test('packets in order become frames at once', (t) => {
  const { packet, firsts, positions } = rig()
  for (let i = 0; i < 4; i++) {
    packet(i, i * FRAME)
    t.equal(firsts().length, i + 1)
  }
  t.strictSame(firsts(), [1000, 1001, 1002, 1003])
  t.strictSame(positions(), [0, 1, 2, 3])
  t.end()
})

t.test('a swapped pair is reordered; a duplicate or late one is dropped', (t) => {
  const { packet, firsts, framer } = rig()
  for (const index of [0, 2, 1, 3, 1, 4]) packet(index, index * FRAME)
  t.strictSame(firsts(), [1000, 1001, 1002, 1003, 1004])
  t.equal(framer.late, 1)
  t.end()
})

t.test('a lost packet delays two packets, then the gap is concealed from both sides', (t) => {
  const { packet, delivered, firsts, positions } = rig()
  for (const index of [0, 2, 3]) packet(index, index * FRAME)
  t.equal(delivered.length, 1)
  packet(4, 4 * FRAME)
  t.strictSame(firsts(), [1000, 1000, 1002, 1003, 1004])
  t.ok((delivered[1]?.last ?? 0) > 950, `no hole: it ends with ${delivered[1]?.last}`)
  t.strictSame(positions(), [0, 1, 2, 3, 4])
  t.end()
})

t.test('two gaps close to each other', (t) => {
  const { packet, firsts, positions } = rig()
  for (const index of [0, 2, 4, 5, 6, 7, 8]) packet(index, index * FRAME)
  t.strictSame(positions(), [0, 1, 2, 3, 4, 5, 6, 7, 8])
  t.strictSame([firsts()[2], firsts()[4], firsts()[8]], [1002, 1004, 1008])
  t.end()
})

t.test('a burst loss of ten becomes three fading frames, silence, and a fade-in', (t) => {
  const { packet, delivered, firsts, positions } = rig()
  packet(0, 0)
  packet(11, 11 * FRAME)
  t.strictSame(
    positions(),
    Array.from({ length: 12 }, (_, i) => i),
  )
  t.equal(firsts()[1], 1000)
  t.ok((firsts()[3] ?? 0) > 0 && (firsts()[3] ?? 0) < 500)
  t.strictSame(firsts().slice(4, 10), [0, 0, 0, 0, 0, 0])
  t.ok((firsts()[10] ?? 0) < 50 && (delivered[10]?.last ?? 0) > 900, 'rising')
  t.equal(firsts()[11], 1011)
  t.end()
})

t.test('held packets are delivered when the stream stops', (t) => {
  const { packet, framer, delivered } = rig()
  packet(0, 0)
  packet(2, 2 * FRAME)
  framer.tick(3 * FRAME, BEHIND)
  t.equal(delivered.length, 1)
  framer.tick(6 * FRAME, BEHIND)
  t.equal(delivered.length, 3)
  t.end()
})

t.test('a silent sender becomes silent frames, and speech resumes at its position', (t) => {
  const { packet, framer, firsts, positions } = rig()
  for (let i = 0; i < 5; i++) packet(i, i * FRAME)
  for (let tick = 5; tick < 50; tick++) framer.tick(tick * FRAME, BEHIND)
  t.equal(positions().at(-1), 45, 'three frames behind the clock')
  // The sequence numbers continue, the timestamp jumps.
  framer.put(105, 50 * FRAME, new Int16Array(FRAME).fill(7), FRAME, 50 * FRAME)
  t.strictSame(
    positions(),
    Array.from({ length: 51 }, (_, i) => i),
  )
  t.equal(firsts().at(-1), 7)
  t.ok(
    firsts()
      .slice(5, 50)
      .every((value) => value === 0),
  )
  t.end()
})

t.test('silence is delivered before the first packet', (t) => {
  const { framer, positions } = rig()
  for (let tick = 0; tick < 10; tick++) framer.tick(tick * FRAME, BEHIND)
  t.strictSame(positions(), [0, 1, 2, 3, 4, 5])
  t.end()
})

t.test('after a stall late frames keep their position', (t) => {
  const { packet, framer, firsts, positions } = rig()
  for (let i = 0; i < 5; i++) packet(i, i * FRAME)
  for (let tick = 5; tick < 20; tick++) framer.tick(tick * FRAME, BEHIND)
  for (let i = 5; i < 22; i++) packet(i, 21 * FRAME)
  const speech = firsts().filter((value) => value !== 0)
  t.strictSame(
    speech,
    Array.from({ length: 22 }, (_, i) => 1000 + i),
  )
  t.strictSame(
    positions().slice(-17),
    Array.from({ length: 17 }, (_, i) => 5 + i),
  )
  t.end()
})

t.test('a stalled sender that resumes is delivered without a gap', (t) => {
  const { packet, framer, firsts } = rig()
  const frames = 30
  // From the tenth packet on all packets are 300 ms late.
  const pause = 15
  for (let i = 0; i < frames; i++) {
    if (i === 10) for (let tick = 0; tick < pause; tick++) framer.tick((i + tick) * FRAME, BEHIND)
    const now = (i + (i < 10 ? 0 : pause)) * FRAME
    packet(i, now)
    framer.tick(now, BEHIND)
  }
  const delivered = firsts()
  const silent = delivered.filter((first) => first === 0).length
  t.ok(silent > 5 && silent <= pause, `${silent} frames of silence for a pause of ${pause}`)
  t.strictSame(
    delivered.slice(-20),
    Array.from({ length: 20 }, (_, i) => 1010 + i),
    'then word for word',
  )
  t.end()
})

t.test('small time differences move nothing, a drift of 5 ms does', (t) => {
  const { framer, delivered } = rig()
  const pcm = new Int16Array(FRAME).fill(5)
  for (let i = 0; i < 200; i++) framer.put(i, i * FRAME + Math.floor(i / 2), pcm, FRAME, i * FRAME)
  t.equal(delivered.length, 200)
  const steps = delivered.slice(1).map((frame, i) => frame.at - (delivered[i]?.at ?? 0))
  t.equal(steps.filter((step) => step !== FRAME).length, 2)
  t.end()
})

t.test('10, 30 and 60 ms packets become 20 ms frames', (t) => {
  for (const size of [80, 240, 480]) {
    const values: number[] = []
    const framer = new ArrivalFramer(8000)
    framer.start({ onFrame: ({ pcm }) => values.push(...pcm) })
    for (let i = 0; i * size < 4800; i++) {
      const pcm = Int16Array.from({ length: size }, (_, k) => i * size + k)
      framer.put(i, i * size, pcm, size, i * size)
    }
    t.strictSame(
      values,
      Array.from({ length: 4800 }, (_, i) => i),
      `${size} samples`,
    )
  }
  t.end()
})

t.test('lost packets of 10 and 60 ms are concealed too, sample by sample', (t) => {
  for (const [size, lost] of [
    [80, 5],
    [80, 6],
    [480, 3],
  ] as const) {
    const values: number[] = []
    const framer = new ArrivalFramer(8000)
    framer.start({ onFrame: ({ pcm }) => values.push(...pcm) })
    const wave = Int16Array.from({ length: 9600 }, (_, i) => 6000 * Math.sin((2 * Math.PI * 200 * i) / 8000))
    for (let i = 0; i * size < 4800; i++) {
      if (i === lost) continue
      framer.put(i, i * size, wave.subarray(i * size, (i + 1) * size), size, i * size)
    }
    framer.tick(20_000, BEHIND)
    let worst = 0
    for (let i = 0; i < 4640; i++) worst = Math.max(worst, Math.abs((values[i] ?? 0) - (wave[i] ?? 0)))
    t.ok(worst < (size === 480 ? 7000 : 600), `${size} samples, packet ${lost}: off by ${worst} of 6000`)
    t.strictSame(
      values.slice((lost + 1) * size, 4640),
      [...wave.subarray((lost + 1) * size, 4640)],
      'what follows is in its place and as it was',
    )
  }
  t.end()
})

t.test('the same holds for 16 kHz on the wire', (t) => {
  const delivered: { at: number; pcm: Int16Array }[] = []
  const framer = new ArrivalFramer(16000)
  framer.start({ onFrame: ({ at, pcm }) => delivered.push({ at, pcm: pcm.slice() }) })
  for (let i = 0; i < 6; i++) {
    if (i !== 3) framer.put(i, i * 320, new Int16Array(320).fill(1000 + i), 320, i * 320)
  }
  t.strictSame(
    delivered.map(({ at }) => at),
    [0, 320, 640],
  )
  framer.tick(320 * 9, 960)
  t.strictSame(
    delivered.slice(0, 6).map(({ at, pcm }) => (at === 960 ? 'made up' : `${at} ${pcm[0]}`)),
    ['0 1000', '320 1001', '640 1002', 'made up', '1280 1004', '1600 1005'],
  )
  t.end()
})

t.test('a packet without audio leaves no gap in the order', (t) => {
  const { packet, framer, delivered } = rig()
  packet(0, 0)
  framer.skip(101, FRAME)
  packet(2, 2 * FRAME)
  t.equal(delivered.length, 3)
  t.equal(delivered[1]?.first, 0, 'silence, not concealment')
  t.end()
})

t.test('while a key is held, a frame follows each packet of the event', (t) => {
  const { packet, framer, delivered } = rig()
  packet(0, 100)
  for (let i = 1; i <= 25; i++) {
    framer.skip(100 + i, 100 + i * FRAME)
    framer.tick(100 + i * FRAME, BEHIND)
    t.equal(delivered.length, 1 + i)
  }
  // The end of an event is sent three times.
  framer.skip(126, 100 + 25 * FRAME)
  framer.skip(127, 100 + 25 * FRAME)
  t.equal(delivered.length, 26)
  framer.put(128, 26 * FRAME, new Int16Array(FRAME).fill(7), FRAME, 100 + 26 * FRAME)
  t.equal(delivered.length, 27)
  t.strictSame(delivered.at(-1), { at: 26 * FRAME, first: 7, last: 7 })
  t.end()
})

t.test('at 16 kHz positions and frames are twice as long', (t) => {
  const { packet, delivered } = rig(16000)
  for (let i = 0; i < 5; i++) packet(i, i * FRAME, 1000)
  t.strictSame(
    delivered.map((frame) => frame.at),
    [0, 320, 640, 960, 1280],
  )
  t.ok(Math.abs((delivered[4]?.last ?? 0) - 1000) < 10)
  t.end()
})
