/** Weight of a slow confirmation in the usual time, and the bound of that time (ms). */
const SLOWER = 1 / 8
const MAX_USUAL_MS = 500

/** Measures how late a bot is to confirm that it has read what was sent to it. */
export class ReadConfirmation {
  #askedAtMs = Number.NEGATIVE_INFINITY
  #pending = false
  /** Usual time (ms) from a question to its confirmation; 0 before it is known. */
  #usualMs = 0

  /** True while a question is not confirmed. */
  get pending(): boolean {
    return this.#pending
  }

  /** Time (ms) of the last question. */
  get askedAtMs(): number {
    return this.#askedAtMs
  }

  ask(nowMs: number): void {
    this.#askedAtMs = nowMs
    this.#pending = true
  }

  confirm(nowMs: number): void {
    this.#pending = false
    const slowerMs = Math.min(MAX_USUAL_MS, nowMs - this.#askedAtMs) - this.#usualMs
    this.#usualMs += slowerMs > 0 ? slowerMs * SLOWER : slowerMs
  }

  /** Returns for how long (ms) the pending question has been unconfirmed beyond the usual time, or 0. */
  lateMs(nowMs: number): number {
    return this.#pending ? Math.max(0, nowMs - this.#askedAtMs - this.#usualMs) : 0
  }
}
