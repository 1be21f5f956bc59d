import t from 'tap'
import { DUPLICATE, FRESH, RESTART, ReceptionStatistics, STALE } from './reception.js'

const SSRC = 9

t.test('in order over three wraps: no loss, extended numbers grow by one', (t) => {
  const reception = new ReceptionStatistics()
  let last = -1
  for (let i = 0; i < 3 * 65536; i++) {
    if (reception.packet(SSRC, (65000 + i) & 0xffff) !== FRESH) throw new Error(`packet ${i} is not fresh`)
    if (last !== -1 && reception.extended !== last + 1) throw new Error(`packet ${i} jumped`)
    last = reception.extended
  }
  t.equal(reception.lost, 0)
  t.equal(reception.duplicates, 0)
  t.end()
})

t.test('loss, reordering and duplicates around the wrap', (t) => {
  const reception = new ReceptionStatistics()
  t.equal(reception.packet(SSRC, 65534), FRESH)
  t.equal(reception.packet(SSRC, 1), FRESH)
  t.equal(reception.lost, 2)
  t.equal(reception.packet(SSRC, 65535), FRESH)
  t.equal(reception.lost, 1)
  t.equal(reception.packet(SSRC, 65535), DUPLICATE)
  t.equal(reception.packet(SSRC, 1), DUPLICATE)
  t.equal(reception.duplicates, 2)
  t.equal(reception.lost, 1)
  t.equal(reception.packet(SSRC, 65533), FRESH, 'from before the first')
  t.equal(reception.lost, 1)
  t.end()
})

t.test('a packet far behind is stale, a wild jump restarts and keeps the count', (t) => {
  const reception = new ReceptionStatistics()
  reception.packet(SSRC, 1000)
  reception.packet(SSRC, 1400)
  t.equal(reception.lost, 399)
  t.equal(reception.packet(SSRC, 1001), STALE)
  t.equal(reception.packet(SSRC, 30000), RESTART)
  t.equal(reception.packet(SSRC, 30001), FRESH)
  t.equal(reception.lost, 399)
  t.equal(reception.packet(SSRC, 30003), FRESH)
  t.equal(reception.lost, 400)
  reception.restart()
  t.equal(reception.packet(SSRC, 5), FRESH)
  t.equal(reception.lost, 400)
  t.end()
})

t.test('report blocks count loss as RFC 3550 does', async (t) => {
  const reception = new ReceptionStatistics()
  const packet = (n: number, ssrc = SSRC) => reception.packet(ssrc, n & 0xffff)
  t.equal(reception.report(0), null)
  for (let n = 65_530; n < 65_630; n++) if (n % 10 !== 0) packet(n)
  t.match(reception.report(0), {
    ssrc: SSRC,
    lost: 9,
    fractionLost: Math.floor((9 * 256) / 100),
    highestSequence: 65_629,
  })
  for (let n = 65_630; n < 65_650; n++) packet(n)
  t.match(reception.report(0), { lost: 9, fractionLost: 0, highestSequence: 65_649 })
  t.equal(reception.report(0), null, 'nothing new')
  for (let n = 65_640; n < 65_650; n++) packet(n)
  t.match(reception.report(0), { lost: -1, fractionLost: 0 }, 'duplicates count as received')
  packet(7000, 10)
  t.match(reception.report(0), { ssrc: 10, lost: 0, highestSequence: 7000 })
  t.match(reception, { expected: 120, lost: 9, duplicates: 10 })
})

t.test('a jump of the sequence numbers restarts the report and counts no loss', async (t) => {
  const reception = new ReceptionStatistics()
  for (let n = 100; n < 110; n++) reception.packet(SSRC, n)
  t.equal(reception.packet(SSRC, 40_000), RESTART)
  t.match(reception.report(0), { highestSequence: 40_000, lost: 0, fractionLost: 0 })
  t.equal(reception.packet(SSRC, 40_001), FRESH)
  t.match(reception, { expected: 12, lost: 0 })
})

t.test('a stream that continues under another SSRC is a new source', async (t) => {
  const reception = new ReceptionStatistics()
  for (let n = 100; n < 110; n += 2) reception.packet(SSRC, n)
  reception.senderReported(SSRC, 77, 1000)
  t.match(reception.report(2000), { lastReport: 77, delaySinceLastReport: 65_536, lost: 4 })
  t.equal(reception.packet(10, 110), FRESH)
  t.match(reception.report(3000), { ssrc: 10, lastReport: 0, lost: 0 })
  t.equal(reception.lost, 4)
})

t.test('a packet that is too late for playout counts as discarded', async (t) => {
  const reception = new ReceptionStatistics()
  for (let n = 0; n < 200; n++) {
    reception.packet(SSRC, n)
    if (n === 100) reception.discard(reception.extended)
  }
  t.match(reception.bursts(), { discarded: 1 })
  t.equal(reception.lost, 0)
})
