/** A pending callback. Cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** The only source of time. Injected everywhere, so that tests own it. */
export interface Clock {
  /**
   * Monotonic milliseconds with a sub-millisecond fraction. The origin is the machine's own
   * (CLOCK_MONOTONIC), so values from different threads and processes of one host compare.
   */
  now(): number
  /** Unix epoch milliseconds, integer. For timestamps people read, never for intervals. */
  wall(): number
  /**
   * Runs `run` once, not earlier than `ms` from now. Real time that comes late (the thread was busy, or its
   * host stood still) lets sockets be read first: what came in time is known before a timer judges it.
   */
  after(ms: number, run: () => void): Timer
}

// performance.now() counts from thread start; hrtime is the machine's monotonic clock. Their
// difference is constant, and performance.now() allocates nothing.
const origin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** A timer so late was kept by more than other timers: sockets may have what came before it was due. */
const LATE_MS = 5
/** Late timers that wait until sockets were read; those behind them wait too, so that order stays. */
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
