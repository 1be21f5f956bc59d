/*
 * A live bot sends what it says as it is spoken: never ahead of time. When it, or the way to it, stood
 * still for a moment, what it says afterwards is late for the rest of the call, because we played
 * silence meanwhile. That standing backlog is left out. A bot that sends speech faster than real time
 * is ahead on purpose and loses nothing.
 */

/** More than this ahead of real time is no live bot. */
const AHEAD_MS = 80
/** So much sound that came at the pace of speech proves a bot live. */
const PROOF_MS = 600
/** What comes within this time came at once. */
const AT_ONCE_MS = 10
/**
 * A bot ahead of real time may say back what it hears, after a stall of the line, which is no lead. It
 * is one when it is not all that was heard, but for what is on its way, for so many frames.
 */
const ON_ITS_WAY_MS = 150
const LEAD_FRAMES = 5
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
  /** Frames for which it led without saying back all it heard. */
  #leads = 0
  /** What came at once last, how long after what came before it, and the sum of what kept the pace. */
  #groupMs = 0
  #gapMs = 0
  #pacedMs = 0
  #toldMs = 0
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
    this.#toldMs = sentMs
    const gapMs = nowMs - this.#lastMs
    if (gapMs < AT_ONCE_MS) this.#groupMs += ms
    else this.#beginGroup(ms, gapMs)
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
    this.#leads = 0
    this.#lastMs = Number.NaN
    this.#groupMs = 0
    this.#gapMs = 0
    this.#pacedMs = 0
    this.#restartWindow()
  }

  /** After every frame played, with what is left waiting. Returns how many ms are to be left out. */
  played(waitingMs: number, nowMs: number): number {
    if (!this.#ahead && this.#leadsAt(nowMs)) this.#ahead = true
    if (this.#ahead || this.#pacedMs < PROOF_MS) {
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

  /** Whether it is ahead of real time by more than what it says back could explain. */
  #leadsAt(nowMs: number): boolean {
    const leadMs = this.#acceptedMs - (nowMs - this.#epochMs)
    const missingMs = this.#toldMs - this.#sentMs - this.#acceptedMs
    this.#leads = leadMs > AHEAD_MS && missingMs > ON_ITS_WAY_MS ? this.#leads + 1 : 0
    return this.#leads >= LEAD_FRAMES
  }

  /** What fills the time since the sound before it, no less and not much more, came as it was spoken. */
  #beginGroup(ms: number, gapMs: number): void {
    const fills = this.#groupMs + FRAME_MS >= this.#gapMs * 0.8
    const fits = this.#groupMs <= this.#gapMs * 1.5 + 2 * FRAME_MS
    // No single burst is a proof.
    if (fills && fits) this.#pacedMs += Math.min(this.#groupMs, AHEAD_MS)
    this.#groupMs = ms
    this.#gapMs = gapMs
  }

  #restartWindow(): void {
    this.#least = Number.POSITIVE_INFINITY
    this.#leastLong = Number.POSITIVE_INFINITY
    this.#frames = 0
    this.#windows = 0
  }
}
