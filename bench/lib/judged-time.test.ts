import t from 'tap'
import { isJudged, joined, judgementOf, NO_LATE_WINDOWS, type Wake } from './judged-time.js'

/** Wake-ups every 5 ms for this many windows of 100 ms from time 1000 on; some of them late. */
function wakes(windows: number, lateAt: Readonly<Record<number, number>> = {}): Wake[] {
  return Array.from({ length: windows * 20 }, (_, i) => ({
    dueMs: 1000 + 5 * i,
    lateMs: lateAt[1000 + 5 * i] ?? 0.5,
  }))
}

t.test('a host in time leaves nothing out', async (t) => {
  const judged = judgementOf(wakes(10))
  t.match(judged, { leftOutPercent: 0, isVoid: false, nullProbeMs: 0.5, worstMs: 0.5 })
  t.equal(judged.late.size, 0)
})

t.test('2 ms are in time, more are late, and only in their window', async (t) => {
  const judged = judgementOf(wakes(10, { 1150: 2, 1250: 2.1 }))
  t.strictSame([...judged.late], [12])
  t.equal(judged.leftOutPercent, 10)
  t.equal(judged.worstMs, 2.1)
})

t.test('a stall makes every window late from the due time to the wake-up', async (t) => {
  const judged = judgementOf(wakes(10, { 1395: 210 }))
  t.strictSame([...judged.late], [13, 14, 15, 16])
})

t.test('a run is void above 20 percent of late windows', async (t) => {
  t.equal(judgementOf(wakes(10, { 1000: 3, 1100: 3 })).isVoid, false)
  t.equal(judgementOf(wakes(10, { 1000: 3, 1100: 3, 1200: 3 })).isVoid, true)
})

t.test('without a probe nothing is valid', async (t) => {
  t.match(judgementOf([]), { isVoid: true, leftOutPercent: 100 })
})

t.test('a sample counts if no window that it touches was late', async (t) => {
  const late = new Set([12])
  t.equal(isJudged(late, 1000, 1199.9), true)
  t.equal(isJudged(late, 1000, 1200), false)
  t.equal(isJudged(late, 1250), false)
  t.equal(isJudged(late, 1150, 1350), false)
  t.equal(isJudged(late, 1300, 1301), true)
  t.equal(isJudged(NO_LATE_WINDOWS, 0, 1e12), true)
})

t.test('separate times of one run are judged together', async (t) => {
  const quiet = judgementOf(wakes(30))
  const busy = judgementOf(wakes(10, { 1000: 3, 1100: 3, 1200: 3, 1300: 9 }))
  t.equal(busy.isVoid, true)
  t.match(joined([quiet, busy]), { windows: 40, leftOutPercent: 10, isVoid: false, worstMs: 9 })
  t.match(joined([busy]), { leftOutPercent: 40, isVoid: true })
  t.match(joined([]), { isVoid: true, leftOutPercent: 100 })
})
