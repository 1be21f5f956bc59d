import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { LearntDeadlines, type VendorWait } from './learnt-deadlines.js'

const KEY = 'language_model a m'
const BOUNDS = { leastMs: 1000, usualMs: 1800, mostMs: 6000 }

function rig() {
  const clock = new VirtualClock()
  const told: VendorWait[] = []
  const deadlines = new LearntDeadlines(clock, (wait) => told.push(wait))
  const wait = (ms: number, how: 'answered' | 'timedOut' = 'answered', times = 1) => {
    for (let n = 0; n < times; n++) {
      const pending = deadlines.begin(KEY)
      clock.advance(ms)
      pending[how]()
    }
  }
  return { clock, deadlines, told, wait, now: () => deadlines.of(KEY, BOUNDS) }
}

t.test('nothing is known of a new vendor', async (t) => {
  const { deadlines, now, wait } = rig()
  t.equal(now(), 1800)
  wait(2500)
  t.equal(now(), 1800, 'one slow answer may be an outlier')
  t.equal(deadlines.of('language_model b m', BOUNDS), 1800, 'each for itself')
})

t.test('a slow vendor gets more time, up to the bound', async (t) => {
  const { now, wait } = rig()
  wait(1800, 'timedOut')
  t.equal(now(), 1800)
  wait(1800, 'timedOut')
  t.equal(now(), Math.round(1800 * 2 * 1.3))
  wait(5000, 'timedOut', 2)
  t.equal(now(), 6000)
  wait(2000, 'answered', 60)
  wait(9000, 'answered', 2)
  t.equal(now(), 2600, 'what it was once is forgotten, and two slow answers of sixty are outliers')
})

t.test('a quick vendor is given up sooner once it is well known', async (t) => {
  const { now, wait } = rig()
  wait(300, 'answered', 29)
  t.equal(now(), 1800)
  wait(300)
  t.equal(now(), 1000, 'not below the bound')
  wait(1000, 'answered', 3)
  t.equal(now(), 1300)
})

t.test('a request counts once, and not at all when it was abandoned', async (t) => {
  const { clock, deadlines, told, now } = rig()
  deadlines.begin(KEY)
  clock.advance(60_000)
  t.same(told, [])
  const pending = deadlines.begin(KEY)
  clock.advance(700)
  pending.answered()
  clock.advance(9000)
  pending.answered()
  pending.timedOut()
  t.same(told, [{ key: KEY, waitedMs: 700 }])
  t.equal(now(), 1800)
})

t.test('the waits of another thread count, and are not reported again', async (t) => {
  const { deadlines, told, now } = rig()
  for (let n = 0; n < 2; n++) deadlines.adopt({ key: KEY, waitedMs: 3000 })
  t.equal(now(), 3900)
  t.same(told, [])
})
