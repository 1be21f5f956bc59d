/** A pending callback. A second `cancel`, or one after the callback ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** The only source of time. It is injected everywhere, so that tests control it. */
export interface Clock {
  /**
   * Returns monotonic time (ms, with fractions). Its origin belongs to the host (CLOCK_MONOTONIC), so values
   * of different threads and processes of one host are comparable.
   */
  now(): number
  /** Returns the Unix time (ms, integer). Use it for timestamps that people read, never for intervals. */
  wall(): number
  /**
   * Runs `run` once, at the earliest `ms` from now. A real timer that fires late (the thread was busy, or the
   * host stood still) lets sockets be read first, so that `run` sees everything that arrived in time.
   */
  after(ms: number, run: () => void): Timer
}

// performance.now() counts from thread start and hrtime from the origin of the monotonic clock. Their
// difference is constant, and performance.now() allocates nothing.
const origin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/**
 * A timer this late (ms) was delayed by more than other timers, so sockets may hold unread data from before
 * its due time.
 */
const LATE_MS = 5
/**
 * Number of late timers that wait for the sockets. Later timers wait behind them, so that the order is kept.
 */
let waiting = 0

export const systemClock: Clock = {
  now: () => performance.now() + origin,
  wall: () => Date.now(),
  after(ms, run) {
    const dueMs = performance.now() + ms
    let afterSockets: NodeJS.Immediate | null = null
    const handle = setTimeout(() => {
      if (waiting === 0 && performance.now() - dueMs < LATE_MS) {
        run()
        return
      }
      waiting++
      afterSockets = setImmediate(() => {
        afterSockets = null
        waiting--
        run()
      })
    }, ms)
    return {
      cancel() {
        clearTimeout(handle)
        if (afterSockets === null) return
        clearImmediate(afterSockets)
        afterSockets = null
        waiting--
      },
    }
  },
}
