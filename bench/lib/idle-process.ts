import { systemClock } from '../../media/base/clock.js'

/*
 * A process that only wakes every 5 ms and records its lateness: the noise of the host. Answers each IPC
 * query with the lateness since the previous one.
 */

const PERIOD_MS = 5
let late: number[] = []
let due = systemClock.now() + PERIOD_MS

function wake(): void {
  const now = systemClock.now()
  // Node counts whole milliseconds and may fire up to one early; early does not count as late.
  late.push(Math.max(0, now - due))
  due += PERIOD_MS
  // After a stall the missed wake-ups count as one lateness.
  if (due < now) due = now + PERIOD_MS
  setTimeout(wake, due - now)
}

setTimeout(wake, PERIOD_MS)
process.on('message', () => {
  process.send?.(late)
  late = []
})
process.on('disconnect', () => process.exit(0))
// The parent may have ended while this process was loading.
if (!process.connected) process.exit(0)
