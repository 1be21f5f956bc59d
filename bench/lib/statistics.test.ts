import t from 'tap'
import { maximum, percentile } from './statistics.js'

t.test('percentiles of small and large samples', async (t) => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i)
  t.equal(percentile(values, 0.5), 50)
  t.equal(percentile(values, 0.99), 99)
  t.equal(percentile(values, 1), 100)
  t.equal(percentile([7], 0.99), 7)
  t.ok(Number.isNaN(percentile([], 0.5)))
  t.equal(maximum([3, 9, 1]), 9)
})
