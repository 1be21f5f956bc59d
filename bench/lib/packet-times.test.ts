import t from 'tap'
import { gapsOf, latenessOf, PacketRecord } from './packet-times.js'

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

t.test('a record returns its packets in order, up to its capacity, and begins anew', async (t) => {
  const record = new PacketRecord(2)
  record.add(1, 160)
  record.add(2, 320)
  record.add(3, 480)
  t.strictSame(record.list(), [
    { atMs: 1, timestamp: 160 },
    { atMs: 2, timestamp: 320 },
  ])
  record.clear()
  record.add(4, 640)
  t.strictSame(record.list(), [{ atMs: 4, timestamp: 640 }])
})
