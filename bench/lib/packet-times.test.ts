import t from 'tap'
import { gapsOf, latenessOf } from './packet-times.js'

t.test('lateness and gaps follow the RTP timestamps, over their wrap and over silence', async (t) => {
  const start = 0xffffff00
  const packet = (atMs: number, frame: number) => ({ atMs, timestamp: (start + frame * 160) >>> 0 })
  // On time, 3 ms late, 1 ms earlier than the first, which is the grid from then on, then four frames of silence.
  const packets = [packet(1000, 0), packet(1023, 1), packet(1039, 2), packet(1120, 6)]
  t.same(latenessOf(packets), [0, 3, 0, 1])
  t.same(gapsOf(packets), [3, 4, 1])
  t.same(latenessOf([]), [])
  // The host was late from 1000 to 1099: what was due or received then does not count, nor the gap that ends later.
  t.same(latenessOf(packets, new Set([10])), [1])
  t.same(gapsOf(packets, new Set([10])), [])
  t.same(latenessOf(packets, new Set([11])), [0, 3, 0])
  t.same(gapsOf(packets, new Set([11])), [3, 4])
})
