import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { DriftMeter } from './clock-drift.js'

for (const ppm of [0, 100, -100, 37]) {
  t.test(`a sender off by ${ppm} ppm, with 30 ms of jitter`, (t) => {
    const random = seeded(ppm + 1000)
    const meter = new DriftMeter(8000)
    const packet = (index: number): void => {
      const sent = index * 160 * (1 - ppm / 1e6)
      const arrival = sent + random.next() * 240
      meter.observe(arrival - index * 160, arrival)
    }
    for (let i = 0; i < 1000; i++) packet(i)
    t.equal(meter.ppm, 0, 'too early to tell')
    for (let i = 1000; i < 15_000; i++) packet(i)
    t.ok(Math.abs(meter.ppm - ppm) < 10, `${meter.ppm.toFixed(1)} ppm`)
    meter.restart()
    t.equal(meter.ppm, 0)
    t.end()
  })
}

t.test('a pause of the sender restarts the estimate, since its clock may have been set', (t) => {
  const meter = new DriftMeter(8000)
  for (let i = 0; i < 3000; i++) meter.observe(0, i * 160)
  for (let i = 0; i < 3000; i++) meter.observe(80_000, 3_000_000 + i * 160)
  t.equal(meter.ppm, 0)
  t.end()
})
