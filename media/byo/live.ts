/*
 * A live bot sends what it says as it is spoken: never ahead of time. When it, or the way to it, stood
 * still for a moment, what it says afterwards is late for the rest of the call, because we played
 * silence meanwhile. That standing backlog is left out. A bot that sends speech faster than real time
 * is ahead on purpose and loses nothing.
 */

/** More than this ahead of real time is no live bot. */
const AHEAD_MS = 80
/** Proved live after so long. */
const PROOF_MS = 600
/** Nothing for so long and it has to be proved again. */
const FORGET_MS = 2_000
/** A backlog stands when there was this much of it all the time ... */
const WINDOW_FRAMES = 10
/** ... or, of a single frame, for this long: it may be what smooths a jittery way. */
const LONG_WINDOWS = 10
/** Running dry so soon after a frame was left out means that it was needed, for this long at least. */
const REGRET_MS = 10_000
const CUSHION_MS = 60_000
const FRAME_MS = 20

/** Watches how much waits. Pure; times are ms of one clock. */
export class LiveWatch {
  #epochMs = Number.NaN
  #acceptedMs = 0
  /** What the bot had been sent when the epoch began. */
  #sentMs = 0
  #lastMs = Number.NaN
  #ahead = false
  #least = Number.POSITIVE_INFINITY
  #frames = 0
  #windows = 0
  #leastLong = Number.POSITIVE_INFINITY
  /** When the last single frame was left out. */
  #thinnedMs = Number.NEGATIVE_INFINITY
  /** Until then one frame more than needed may wait: without it, speech had holes. */
  #cushionMs = Number.NEGATIVE_INFINITY

  /**
   * Sound of `ms` came; `sentMs` is what the bot was sent so far in all, which after a stall of the
   * network is more than real time: a bot that says it back is still live.
   */
  came(ms: number, nowMs: number, sentMs: number): void {
    if (!(nowMs - this.#lastMs <= FORGET_MS)) {
      // A bot that says back what it hears began with the first it heard, however late that comes here.
      this.#sentMs = Number.isNaN(this.#epochMs) ? 0 : sentMs
      this.restart(nowMs)
    }
    this.#lastMs = nowMs
    this.#acceptedMs += ms
    // Its clock may run a little faster than ours: 0.1 % is more than any clock does.
    const dueMs = Math.max((nowMs - this.#epochMs) * 1.001, sentMs - this.#sentMs)
    if (this.#acceptedMs - dueMs > AHEAD_MS) this.#ahead = true
  }

  /** Sound ran out in the middle of speech. */
  ranDry(nowMs: number): void {
    if (nowMs - this.#thinnedMs < REGRET_MS) this.#cushionMs = nowMs + CUSHION_MS
  }

  /** The bot begins anew: what it sent until now is forgotten. */
  restart(nowMs: number): void {
    this.#epochMs = nowMs
    this.#acceptedMs = 0
    this.#ahead = false
    this.#lastMs = Number.NaN
    this.#restartWindow()
  }

  /** After every frame played, with what is left waiting. Returns how many ms are to be left out. */
  played(waitingMs: number, nowMs: number): number {
    if (this.#ahead || !(nowMs - this.#epochMs > PROOF_MS)) {
      if (this.#frames > 0) this.#restartWindow()
      return 0
    }
    if (waitingMs < this.#least) this.#least = waitingMs
    this.#frames++
    if (this.#frames < WINDOW_FRAMES) return 0
    const least = this.#least
    this.#least = Number.POSITIVE_INFINITY
    this.#frames = 0
    if (least < this.#leastLong) this.#leastLong = least
    this.#windows++
    if (least >= 2 * FRAME_MS) {
      this.#restartWindow()
      return least - FRAME_MS
    }
    if (this.#windows < LONG_WINDOWS) return 0
    const standing = this.#leastLong
    this.#restartWindow()
    if (standing < FRAME_MS || nowMs < this.#cushionMs) return 0
    this.#thinnedMs = nowMs
    return standing
  }

  #restartWindow(): void {
    this.#least = Number.POSITIVE_INFINITY
    this.#leastLong = Number.POSITIVE_INFINITY
    this.#frames = 0
    this.#windows = 0
  }
}
