import type { Clock, Timer } from './clock.js'

interface PendingTimer {
  readonly dueMs: number
  readonly order: number
  readonly run: () => void
}

/**
 * A clock that only `advance` moves. Timers run in order of due time, then of creation, including timers that
 * are created meanwhile. Inside a callback `now()` is its due time.
 */
export class StepClock implements Clock {
  readonly #timers = new Set<PendingTimer>()
  readonly #wallAtZero: number
  #nowMs: number
  #order = 0

  /** @param wallMs the Unix time at the start (ms); `nowMs` is the value of `now()` then */
  constructor(wallMs: number, nowMs = 0) {
    this.#nowMs = nowMs
    this.#wallAtZero = wallMs - nowMs
  }

  /** Number of timers that neither ran nor were cancelled. */
  get pending(): number {
    return this.#timers.size
  }

  /** Due time of the next timer, or null when there is none. */
  get nextDueMs(): number | null {
    return this.#next()?.dueMs ?? null
  }

  now(): number {
    return this.#nowMs
  }

  wall(): number {
    return Math.floor(this.#wallAtZero + this.#nowMs)
  }

  after(ms: number, run: () => void): Timer {
    const timer: PendingTimer = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, run }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  /** Moves time forward by `ms`. A callback that throws stops the clock at its due time. */
  advance(ms: number): void {
    const targetMs = this.#nowMs + ms
    for (let next = this.#next(); next !== null && next.dueMs <= targetMs; next = this.#next()) {
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.run()
    }
    this.#nowMs = targetMs
  }

  #next(): PendingTimer | null {
    let next: PendingTimer | null = null
    for (const timer of this.#timers) {
      const sooner =
        next === null || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order)
      if (sooner) next = timer
    }
    return next
  }
}
