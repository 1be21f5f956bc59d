import { systemClock } from '../../media/base/clock.js'

/*
 * A process that does nothing but wake every 5 ms and note how late: what the host itself costs.
 * Asked over IPC, it answers with the lateness of the time since it was asked before.
 */

const PERIOD_MS = 5
let late: number[] = []
let due = systemClock.now() + PERIOD_MS

function wake(): void {
  const now = systemClock.now()
  // Node counts whole milliseconds and may be up to one early; early is not late.
  late.push(Math.max(0, now - due))
  due += PERIOD_MS
  // After a stall the missed wakes are one lateness, not many.
  if (due < now) due = now + PERIOD_MS
  setTimeout(wake, due - now)
}

setTimeout(wake, PERIOD_MS)
process.on('message', () => {
  process.send?.(late)
  late = []
})
process.on('disconnect', () => process.exit(0))
// Who started it may have left while this was still being loaded.
if (!process.connected) process.exit(0)
