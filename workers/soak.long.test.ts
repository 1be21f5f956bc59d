import t from 'tap'
import { growth, soak } from '../fixtures/soak.js'

/** About four call-hours: what leaks 1 MB in each shows above the noise of the collector. */
const MOST_KB = 4 * 1024
/** The allocator keeps pages of its own. */
const MOST_RSS_KB = 24 * 1024

t.test('ten minutes of calls that come and go', { timeout: 900_000 }, async (t) => {
  const result = await soak({ seconds: 600, everyMs: 400, shortestMs: 2000, longestMs: 16_000 })
  const { calls, callHours, frames, packets, said, heard, problems, before, after, beat } = result
  t.strictSame(problems, [])
  t.ok(calls >= 1000, `${calls} calls, ${callHours.toFixed(3)} call-hours`)
  t.ok(packets >= 0.95 * frames && packets <= frames, `${packets} packets out of ${frames} beats`)
  t.ok(heard >= 0.98 * said && heard <= said, `${heard} packets taken of ${said}`)
  t.equal(result.sessionsLeft, 0)
  t.strictSame(result.left, [], 'sockets, timers, threads')
  if (before.files !== null) t.equal(after.files, before.files, 'open files are as before')
  for (const what of ['workerHeapBytes', 'heapBytes', 'rssBytes'] as const) {
    const { kb, kbPerCallHour } = growth(result, what)
    t.comment(`${what}: ${kb.toFixed(0)} KB more, ${kbPerCallHour.toFixed(0)} KB per call-hour`)
    t.ok(kb < (what === 'rssBytes' ? MOST_RSS_KB : MOST_KB), what)
  }
  t.comment(
    `beat p50 ${beat.p50Ms} p99 ${beat.p99Ms} max ${beat.maxMs} ms, ${beat.skippedFrames} frames skipped`,
  )
})
