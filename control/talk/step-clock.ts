import type { Clock, Timer } from '../../media/base/clock.js'

interface Pending {
  readonly dueMs: number
  readonly order: number
  readonly run: () => void
}

/** Time that only `step` moves: a conversation without real vendors need not last as long as it sounds. */
export class StepClock implements Clock {
  readonly #wallAtZero: number
  readonly #timers = new Set<Pending>()
  #nowMs = 0
  #order = 0

  /** `wallMs`: the time of day at which it begins, Unix ms. */
  constructor(wallMs: number) {
    this.#wallAtZero = wallMs
  }

  now(): number {
    return this.#nowMs
  }

  wall(): number {
    return Math.floor(this.#wallAtZero + this.#nowMs)
  }

  after(ms: number, run: () => void): Timer {
    const timer: Pending = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, run }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  /** Moves time on; what falls due runs in order, each at its own time. */
  step(ms: number): void {
    const targetMs = this.#nowMs + ms
    for (let next = this.#next(); next !== null && next.dueMs <= targetMs; next = this.#next()) {
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.run()
    }
    this.#nowMs = targetMs
  }

  #next(): Pending | null {
    let next: Pending | null = null
    for (const timer of this.#timers) {
      const sooner =
        next === null || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order)
      if (sooner) next = timer
    }
    return next
  }
}
