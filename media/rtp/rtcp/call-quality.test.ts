import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { BurstCounter } from './burst-loss.js'
import { estimateMos } from './call-quality.js'

/** Runs a pattern of packets through the counter: `.` received, `x` lost, `d` too late. */
function bursts(pattern: string) {
  const counter = new BurstCounter()
  for (const [i, what] of [...pattern].entries()) if (what !== 'x') counter.packet(1000 + i, what === 'd')
  counter.restart()
  return counter.snapshot()
}

t.test('single losses belong to gaps, dense losses to bursts (RFC 3611)', async (t) => {
  const good = '.'.repeat(100)
  t.match(bursts(good + good), { burstDensity: 0, gapDensity: 0, ratio: 1, discarded: 0 })
  const apart = bursts(`${good}x${good}x${good}x${good}`)
  t.equal(apart.burstDensity, 0)
  t.ok(Math.abs(apart.gapDensity - 3 / 403) < 0.001, `gap density ${apart.gapDensity}`)
  const together = bursts(`${good}xxxxxxxx${good}`)
  t.ok(together.burstDensity > 0.85, `burst density ${together.burstDensity}`)
  t.equal(together.gapDensity, 0)
  t.ok(together.ratio > 7)
  const sparse = bursts(`${good}${'xx....'.repeat(20)}${good}`)
  t.ok(Math.abs(sparse.burstDensity - 1 / 3) < 0.05, `a third of the burst: ${sparse.burstDensity}`)
})

t.test('a packet too late for playout counts like a lost one, and is also counted separately', async (t) => {
  const good = '.'.repeat(100)
  const late = bursts(`${good}dddddddd${good}`)
  t.equal(late.discarded, 8)
  t.ok(late.burstDensity > 0.85)
})

t.test('reordering within 64 packets is not loss', async (t) => {
  const counter = new BurstCounter()
  for (let block = 0; block < 50; block++) {
    for (let i = 39; i >= 0; i--) counter.packet(5000 + block * 40 + i, false)
  }
  counter.restart()
  const { burstDensity, gapDensity } = counter.snapshot()
  // Packets before the first one are not counted.
  t.match({ burstDensity, gapDensity }, { burstDensity: 0, gapDensity: 0 })
})

t.test('random loss has a burst ratio of one at any rate', async (t) => {
  for (const rate of [0.01, 0.05, 0.2]) {
    const random = seeded(3)
    const counter = new BurstCounter()
    for (let i = 0; i < 50_000; i++) if (random.next() >= rate) counter.packet(i, false)
    const { ratio } = counter.snapshot()
    t.ok(Math.abs(ratio - 1) < 0.07, `${rate}: ${ratio}`)
  }
})

t.test('the E-model: no loss scores best, bursts and delay reduce the score', async (t) => {
  const mos = (loss: number, burstRatio = 1, delayMs = 0) => estimateMos({ loss, burstRatio, delayMs })
  t.equal(mos(0).toFixed(2), '4.41', 'R 93.2')
  // G.107 with Ie 0 and Bpl 25.1: Ie-eff 3.64 at 1 %, 15.78 at 5 %.
  t.equal(mos(0.01).toFixed(2), '4.33')
  t.equal(mos(0.05).toFixed(2), '3.92')
  t.ok(mos(0.05, 2) < mos(0.05) && mos(0.05, 4) < mos(0.05, 2))
  t.ok(mos(0, 1, 150) > 4.3 && mos(0, 1, 300) < mos(0, 1, 177) - 0.3)
  t.equal(mos(1, 1000), 1, 'never below 1')
  for (let loss = 0; loss < 1; loss += 0.01) t.ok(mos(loss) >= mos(loss + 0.01))
})
