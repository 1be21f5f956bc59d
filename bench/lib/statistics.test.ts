import t from 'tap'
import { gapsOf, latenessOf, maximum, percentile } from './statistics.js'

t.test('percentiles of small and large samples', async (t) => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i)
  t.equal(percentile(values, 0.5), 50)
  t.equal(percentile(values, 0.99), 99)
  t.equal(percentile(values, 1), 100)
  t.equal(percentile([7], 0.99), 7)
  t.ok(Number.isNaN(percentile([], 0.5)))
  t.equal(maximum([3, 9, 1]), 9)
})

t.test('lateness and gaps follow the RTP timestamps, over their wrap and over silence', async (t) => {
  const start = 0xffffff00
  const packet = (atMs: number, frame: number) => ({ atMs, timestamp: (start + frame * 160) >>> 0 })
  // On time, 3 ms late, 1 ms early against the first, then four frames of silence.
  const packets = [packet(1000, 0), packet(1023, 1), packet(1039, 2), packet(1120, 6)]
  t.same(latenessOf(packets), [1, 4, 0, 1])
  t.same(gapsOf(packets), [3, 4, 1])
  t.same(latenessOf([]), [])
})
