import t from 'tap'
import { growth, soak } from '../../fixtures/rigs/soak.js'

/** About one call-hour: a leak of 2 MB in it shows above the noise of the garbage collector. */
const MOST_KB = 2 * 1024
/** Heaps and arenas reach their size in the first thousand calls: measured at about 50 MB. */
const MOST_RSS_KB = 64 * 1024

t.test('six hundred calls leave nothing behind', { timeout: 900_000 }, async (t) => {
  const result = await soak({
    seconds: 180,
    warmUpSeconds: 40,
    everyMs: 300,
    shortestMs: 2000,
    longestMs: 12_000,
  })
  const { calls, callHours, frames, packets, said, heard, problems, before, after, beat } = result
  t.strictSame(problems, [])
  t.ok(calls >= 500, `${calls} calls, ${callHours.toFixed(3)} call-hours`)
  // Frames skipped on a busy host are counted; every other frame sent its packet.
  const due = frames - beat.skippedFrames
  t.ok(packets >= 0.98 * due && packets <= frames, `${packets} packets out, ${due} of ${frames} beats ran`)
  t.ok(heard >= 0.98 * said && heard <= said, `${heard} packets taken of ${said}`)
  t.equal(result.sessionsLeft, 0)
  t.strictSame(result.left, [], 'sockets, timers, threads')
  if (before.files !== null) t.equal(after.files, before.files, 'open files are as before')
  for (const what of ['workerHeapBytes', 'heapBytes', 'rssBytes'] as const) {
    const { kb, kbPerCallHour } = growth(result, what)
    t.comment(`${what}: ${kb.toFixed(0)} KB more, ${kbPerCallHour.toFixed(0)} KB per call-hour`)
    t.ok(kb < (what === 'rssBytes' ? MOST_RSS_KB : MOST_KB), what)
  }
  t.ok(result.refused <= 0.1 * calls, `${result.refused} calls refused while the beat was late`)
  for (const warning of result.warnings) t.comment(warning)
  t.comment(
    `beat p50 ${beat.p50Ms} p99 ${beat.p99Ms} max ${beat.maxMs} ms, work p99 ${beat.workP99Ms} max ${beat.workMaxMs} ms, ${beat.skippedFrames} frames skipped`,
  )
})
