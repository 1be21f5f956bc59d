import { systemClock } from '../../media/base/clock.js'
import { raiseThreadPriority } from '../../workers/thread/thread-priority.js'

/*
 * A process that only wakes every 5 ms and records its lateness: the noise of the host for a thread of the media
 * threads' priority. Answers `wakes` over IPC with due time and lateness of each wake-up since `begin`.
 */

const PERIOD_MS = 5
let wakes: number[] = []
let due = systemClock.now() + PERIOD_MS

raiseThreadPriority()

function wake(): void {
  const now = systemClock.now()
  // Node counts whole milliseconds and may fire up to one early; early does not count as late.
  wakes.push(due, Math.max(0, now - due))
  due += PERIOD_MS
  // After a stall the missed wake-ups count as one lateness.
  if (due < now) due = now + PERIOD_MS
  setTimeout(wake, due - now)
}

setTimeout(wake, PERIOD_MS)
process.on('message', (question: 'begin' | 'wakes') => {
  if (question === 'begin') wakes = []
  process.send?.(Float64Array.from(wakes))
})
process.on('disconnect', () => process.exit(0))
// The parent may have ended while this process was loading.
if (!process.connected) process.exit(0)
