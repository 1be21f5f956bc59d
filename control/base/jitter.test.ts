import t from 'tap'
import { jittered } from './jitter.js'

t.test('an interval is up to a fifth shorter, at random', async (t) => {
  const draws = Array.from({ length: 1_000 }, () => jittered(5_000))
  t.ok(draws.every((ms) => Number.isInteger(ms) && ms >= 4_000 && ms <= 5_000))
  t.ok(new Set(draws).size > 100)
})
