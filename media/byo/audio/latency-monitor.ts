import { FRAME_MS } from '../../base/frame.js'

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
/** Sound waits longer than it must when all of it did for so many frames, by two frames or more ... */
const WINDOW_FRAMES = 10
/** ... or for so many times that: less may be what smooths a jittery way. */
const LONG_WINDOWS = 5
const TWO_FRAMES = 2 * FRAME_MS
/** Sound waits so long on purpose: beats and sockets are read a millisecond early or late. */
const LEAST_WAIT_MS = 2
/** Running dry so soon after the wait was shortened means that it was needed, for this long ... */
const REGRET_MS = 10_000
const CUSHION_MS = 10_000
/** ... and for twice as long each time it happens again, up to this. */
const MOST_CUSHION_MS = 80_000
/** Later than this by a frame is no jitter but a standstill: no cushion helps. */
const JITTER_MS = 60
/** More than a frame late is waited for when it happens so often: else a hole is better than the wait. */
const OFTEN_MS = 3_000

/** Watches how long sound waits. Pure; times are ms of one clock. */
export class LatencyMonitor {
  /** Beside what the last `played` returned: by so much less than a frame sound could wait less. */
  residualMs = 0
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
  /** When waiting was shortened last. */
  #shortenedMs = Number.NEGATIVE_INFINITY
  /** Sound is left to wait so long: less, and speech had holes. */
  #cushionMs = LEAST_WAIT_MS
  #cushionUntilMs = Number.NEGATIVE_INFINITY
  #holdMs = CUSHION_MS
  /** What all sound waited in the last windows of frames, the latest and the one before it. */
  #usualMs = 0
  #usualBeforeMs = 0
  /** When sound ran out last. */
  #dryMs = Number.NEGATIVE_INFINITY

  /**
   * Sound of `ms` came; `sentMs` is what the bot was sent so far in all, which after a stall of the
   * network is more than real time: a bot that says it back is still live.
   */
  audioArrived(ms: number, nowMs: number, sentMs: number): void {
    if (!(nowMs - this.#lastMs <= FORGET_MS)) {
      // A bot that says back what it hears began with the first it heard, however late that comes here.
      this.#sentMs = Number.isNaN(this.#epochMs) ? 0 : sentMs
      this.reset(nowMs)
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

  /** Sound ran out in the middle of speech and came so much later; by a frame unless told. */
  underrun(nowMs: number, lateMs: number = FRAME_MS): void {
    if (lateMs > JITTER_MS) return
    const often = nowMs - this.#dryMs < OFTEN_MS
    this.#dryMs = nowMs
    if (nowMs - this.#shortenedMs >= REGRET_MS) return
    const goneMs = nowMs - this.#cushionUntilMs
    if (goneMs >= 0) this.#cushionMs = LEAST_WAIT_MS
    this.#holdMs = goneMs > MOST_CUSHION_MS ? CUSHION_MS : Math.min(MOST_CUSHION_MS, 2 * this.#holdMs)
    // So late although it would have waited.
    const neededMs = Math.max(this.#usualMs, this.#usualBeforeMs) + lateMs
    const cushionMs = Math.min(neededMs, often ? JITTER_MS : FRAME_MS) + LEAST_WAIT_MS
    this.#cushionMs = Math.max(this.#cushionMs, cushionMs)
    this.#cushionUntilMs = nowMs + this.#holdMs
  }

  /** It is proved to speak in real time. */
  get isLive(): boolean {
    return !this.#ahead && this.#pacedMs >= PROOF_MS
  }

  /** The bot begins anew: what it sent until now is forgotten. */
  reset(nowMs: number): void {
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

  /**
   * After every frame played, with how long its sound had waited, 0 when there was none, or with what is
   * left waiting, whichever is more. Returns how many ms are to be left out, whole frames.
   */
  framePlayed(waitedMs: number, nowMs: number): number {
    this.residualMs = 0
    if (!this.#ahead && this.#leadsAt(nowMs)) this.#ahead = true
    if (!this.isLive) {
      if (this.#frames > 0 || this.#windows > 0) this.#restartWindow()
      return 0
    }
    if (waitedMs < this.#least) this.#least = waitedMs
    this.#frames++
    if (this.#frames < WINDOW_FRAMES) return 0
    const cushionMs = nowMs < this.#cushionUntilMs ? this.#cushionMs : LEAST_WAIT_MS
    let residualMs = this.#least - cushionMs
    if (this.#least < this.#leastLong) this.#leastLong = this.#least
    this.#usualBeforeMs = this.#usualMs
    this.#usualMs = this.#least
    this.#least = Number.POSITIVE_INFINITY
    this.#frames = 0
    this.#windows++
    if (residualMs >= TWO_FRAMES) {
      // What came late once may do so again: of the last frame a part is left, and looked at for longer.
      residualMs = Math.ceil(residualMs / FRAME_MS - 1) * FRAME_MS
    } else {
      if (this.#windows < LONG_WINDOWS) return 0
      residualMs = this.#leastLong - cushionMs
    }
    this.#restartWindow()
    if (residualMs <= 0) return 0
    const wholeMs = Math.floor(residualMs / FRAME_MS) * FRAME_MS
    if (wholeMs > 0) this.#shorten(wholeMs, nowMs)
    this.residualMs = residualMs - wholeMs
    return wholeMs
  }

  /** From now on sound waits `ms` less, because beats come sooner. */
  playoutAdvanced(ms: number, nowMs: number): void {
    this.#shorten(ms, nowMs)
    this.#restartWindow()
  }

  #shorten(ms: number, nowMs: number): void {
    this.#shortenedMs = nowMs
    this.#usualMs = Math.max(0, this.#usualMs - ms)
    this.#usualBeforeMs = 0
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
