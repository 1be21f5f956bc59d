import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { RtpTimeline } from './timeline.js'

t.test('jitter is removed once the fastest packets were seen', (t) => {
  const random = seeded(1)
  const timeline = new RtpTimeline()
  let worst = 0
  for (let i = 0; i < 500; i++) {
    const sent = 4000 + i * 160
    const ts = timeline.observe((0xfffff000 + i * 160) >>> 0, sent + 400 + random.next() * 480)
    if (i > 100) worst = Math.max(worst, Math.abs(timeline.position(ts) - (sent + 400)))
  }
  t.ok(worst < 10, `off by ${worst} samples`)
  t.ok(timeline.jitter > 100 && timeline.jitter < 240, `jitter ${timeline.jitter}`)
  t.end()
})

for (const ppm of [100, -100]) {
  t.test(`a sender clock off by ${ppm} ppm is followed`, (t) => {
    const random = seeded(2)
    const timeline = new RtpTimeline()
    let worst = 0
    // Ten minutes, in which the clocks diverge by 480 samples.
    for (let i = 0; i < 30_000; i++) {
      const sent = i * 160 * (1 + ppm / 1e6)
      const ts = timeline.observe(i * 160, sent + random.next() * 160)
      if (i > 500) worst = Math.max(worst, Math.abs(timeline.position(ts) - sent))
    }
    t.ok(worst < 20, `off by ${worst.toFixed(1)} samples`)
    t.end()
  })
}

t.test('a forward jump of the timestamps requires a restart', (t) => {
  const timeline = new RtpTimeline()
  timeline.observe(1000, 0)
  t.not(timeline.observe(1160, 160), -1)
  t.equal(timeline.observe(500_000, 320), -1)
  timeline.restart()
  const ts = timeline.observe(500_000, 320)
  t.equal(timeline.position(ts), 320)
  t.end()
})

t.test('a stall shows as delay, not as a new position', (t) => {
  const timeline = new RtpTimeline()
  for (let i = 0; i < 50; i++) timeline.observe(i * 160, i * 160)
  const ts = timeline.observe(50 * 160, 50 * 160 + 2400)
  t.equal(timeline.delay, 2400)
  t.equal(timeline.position(ts), 50 * 160)
  t.equal(timeline.timestampAt(8000), ts)
  t.end()
})
