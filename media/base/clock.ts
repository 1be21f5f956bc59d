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
  /** Runs `run` once, not earlier than `ms` from now. */
  after(ms: number, run: () => void): Timer
}

// performance.now() counts from thread start; hrtime is the machine's monotonic clock. Their
// difference is constant, and performance.now() allocates nothing.
const origin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

export const systemClock: Clock = {
  now: () => performance.now() + origin,
  wall: () => Date.now(),
  after(ms, run) {
    const handle = setTimeout(run, ms)
    return { cancel: () => clearTimeout(handle) }
  },
}
