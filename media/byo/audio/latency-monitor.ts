import { FRAME_MS } from '../../base/frame.js'

/*
 * A real-time bot sends audio as it is spoken, never ahead of time. After the bot or the network stalls,
 * everything it says would stay late for the rest of the call, because silence was played meanwhile. What a
 * measured stall made late is removed at once. Audio that waits for another reason is the lead of the bot: only
 * silence of it is removed. A bot that sends faster than real time is ahead on purpose and loses nothing.
 */

/** A bot further ahead of real time than this (ms) is not a real-time bot. */
const AHEAD_MS = 80
/** Audio (ms) that must arrive at the pace of speech before a bot counts as real-time. */
const PROOF_MS = 600
/** Audio that arrives within this time (ms) belongs to one burst. */
const BURST_MS = 10
/**
 * An echo bot that catches up after a network stall is not ahead of real time. A bot is ahead only if, for
 * LEAD_FRAMES frames, it sent more than it received, less IN_FLIGHT_MS of audio in flight.
 */
const IN_FLIGHT_MS = 150
const LEAD_FRAMES = 5
/** After a silence of this length (ms) a bot has to prove again that it speaks in real time. */
const FORGET_MS = 2_000
/** Audio waits too long when all of it did for this many frames, by two frames or more ... */
const WINDOW_FRAMES = 10
/** ... or for this many such windows, by any amount: a shorter wait may be absorbing network jitter. */
const LONG_WINDOWS = 5
const TWO_FRAMES = 2 * FRAME_MS
/** A stall explains a backlog that is noticed within this time (ms) after it. */
const STALL_MS = 3_000
/** The audio after a stall holds this share of the time it took; audio after a pause does not. */
const CATCH_UP = 0.8
/** Audio (ms) that may be on its way to an echo bot and back. */
const ECHO_MS = 60
/** Rounding error (ms) of times that are multiples of a frame. */
const ROUNDING_MS = 0.01
/** Delay (ms) that is always kept: ticks and socket reads vary by a millisecond. */
const MIN_DELAY_MS = 2
/**
 * An underrun this soon (ms) after the delay was cut means that the delay was needed. It is then kept as a
 * cushion for CUSHION_MS ...
 */
const REVERT_MS = 10_000
const CUSHION_MS = 10_000
/** ... and for twice as long after each repetition, up to this (ms). */
const MAX_CUSHION_MS = 80_000
/** A frame later than this (ms) is a stall rather than jitter; no cushion helps. */
const JITTER_MS = 60
/**
 * A cushion longer than one frame is kept only if underruns recur within this time (ms); otherwise a gap is
 * better than the delay.
 */
const RECURRENCE_MS = 3_000

/** Measures how long a bot's audio waits before it is played. Pure; all times are ms of one clock. */
export class LatencyMonitor {
  /**
   * Sub-frame part (ms) of the delay that could still be removed, besides the result of the last
   * `framePlayed`.
   */
  residualMs = 0
  /** Standing backlog (ms, whole frames) of which silence may be removed. */
  surplusMs = 0
  /** Standing wait (ms) of the bot's audio when nothing stalls, or NaN before it is known. */
  #leadMs = Number.NaN
  /** Shortest wait (ms) of the audio in this window. */
  #leastWithAudio = Number.POSITIVE_INFINITY
  /** Lateness (ms) that a stall explains, and the time of that stall. */
  #stalledMs = 0
  #stalledAtMs = Number.NEGATIVE_INFINITY
  /** Frames (ms) played without audio before the present burst. */
  #emptyMs = 0
  /** So far, the bot never sent more than it had received: an echo is never ahead. */
  #echo = true
  #epochMs = Number.NaN
  #acceptedMs = 0
  /** Audio sent to the bot (ms) when the present epoch began. */
  #sentMs = 0
  #lastMs = Number.NaN
  #ahead = false
  /** Consecutive frames for which the bot led by more than an echo can explain. */
  #leads = 0
  /**
   * The latest burst (ms of audio), its distance from the burst before it, and the total audio that kept the
   * pace of speech.
   */
  #burstMs = 0
  #burstGapMs = 0
  #pacedMs = 0
  #sentTotalMs = 0
  #least = Number.POSITIVE_INFINITY
  #frames = 0
  #windows = 0
  #leastOfWindows = Number.POSITIVE_INFINITY
  /** Time of the last cut of the delay. */
  #shortenedMs = Number.NEGATIVE_INFINITY
  /** Delay (ms) that is kept because a shorter one caused underruns. */
  #cushionMs = MIN_DELAY_MS
  #cushionUntilMs = Number.NEGATIVE_INFINITY
  #holdMs = CUSHION_MS
  /** Shortest wait (ms) in the latest window of frames and in the one before it. */
  #minWaitMs = 0
  #minWaitBeforeMs = 0
  /** Time of the last underrun. */
  #underrunMs = Number.NEGATIVE_INFINITY

  /**
   * Records that `ms` of audio arrived. `sentMs` is the total audio sent to the bot. After a network stall it
   * exceeds real time, so that an echo bot still counts as real-time. `emptyMs` is the length of the frames
   * that were played without audio before this arrival.
   */
  audioArrived(ms: number, nowMs: number, sentMs: number, emptyMs = 0): void {
    if (!(nowMs - this.#lastMs <= FORGET_MS)) {
      // An echo bot starts with the first audio it received, however late its echo arrives.
      this.#sentMs = Number.isNaN(this.#epochMs) ? 0 : sentMs
      this.#echo = Number.isNaN(this.#epochMs)
      this.reset(nowMs)
    }
    this.#sentTotalMs = sentMs
    const gapMs = nowMs - this.#lastMs
    if (gapMs < BURST_MS) this.#burstMs += ms
    else {
      this.#beginBurst(ms, gapMs)
      this.#emptyMs = emptyMs
    }
    this.#measureStall(nowMs)
    this.#lastMs = nowMs
    this.#acceptedMs += ms
    if (this.#acceptedMs > sentMs + FRAME_MS) this.#echo = false
    // The bot's clock may run slightly faster than ours; no real clock is off by 0.1 %.
    const dueMs = Math.max((nowMs - this.#epochMs) * 1.001, sentMs - this.#sentMs)
    if (this.#acceptedMs - dueMs > AHEAD_MS) this.#ahead = true
  }

  /** Records that audio ran out in the middle of speech and continued `lateMs` later. */
  underrun(nowMs: number, lateMs: number = FRAME_MS): void {
    if (lateMs > JITTER_MS) return
    const often = nowMs - this.#underrunMs < RECURRENCE_MS
    this.#underrunMs = nowMs
    if (nowMs - this.#shortenedMs >= REVERT_MS) return
    const expiredMs = nowMs - this.#cushionUntilMs
    if (expiredMs >= 0) this.#cushionMs = MIN_DELAY_MS
    this.#holdMs = expiredMs > MAX_CUSHION_MS ? CUSHION_MS : Math.min(MAX_CUSHION_MS, 2 * this.#holdMs)
    // The audio was this late although it would have waited.
    const neededMs = Math.max(this.#minWaitMs, this.#minWaitBeforeMs) + lateMs
    const cushionMs = Math.min(neededMs, often ? JITTER_MS : FRAME_MS) + MIN_DELAY_MS
    this.#cushionMs = Math.max(this.#cushionMs, cushionMs)
    this.#cushionUntilMs = nowMs + this.#holdMs
  }

  /** True while the bot is known to speak in real time. */
  get isLive(): boolean {
    return !this.#ahead && this.#pacedMs >= PROOF_MS
  }

  /** Starts a new epoch: forgets all that the bot sent. */
  reset(nowMs: number): void {
    this.#epochMs = nowMs
    this.#acceptedMs = 0
    this.#ahead = false
    this.#leads = 0
    this.#lastMs = Number.NaN
    this.#burstMs = 0
    this.#burstGapMs = 0
    this.#pacedMs = 0
    this.#leadMs = Number.NaN
    this.#stalledMs = 0
    this.#emptyMs = 0
    this.#restartWindow()
  }

  /**
   * Runs after every frame played. `waitedMs` is the time its audio had waited (0 without audio) or the audio
   * still queued, whichever is more. Returns how much late audio to skip (ms, whole frames).
   */
  framePlayed(waitedMs: number, nowMs: number, hasAudio = true): number {
    this.residualMs = 0
    if (!this.#ahead && this.#leadsBeyondEcho(nowMs)) this.#ahead = true
    if (!this.isLive) {
      if (this.#frames > 0 || this.#windows > 0) this.#restartWindow()
      this.surplusMs = 0
      return 0
    }
    if (waitedMs < this.#least) this.#least = waitedMs
    if (hasAudio && waitedMs < this.#leastWithAudio) this.#leastWithAudio = waitedMs
    this.#frames++
    if (this.#frames < WINDOW_FRAMES) return 0
    const cushionMs = nowMs < this.#cushionUntilMs ? this.#cushionMs : MIN_DELAY_MS
    let standingMs = this.#least
    let residualMs = standingMs - cushionMs
    if (this.#least < this.#leastOfWindows) this.#leastOfWindows = this.#least
    this.#minWaitBeforeMs = this.#minWaitMs
    this.#minWaitMs = this.#least
    this.#least = Number.POSITIVE_INFINITY
    this.#frames = 0
    this.#windows++
    const stalled = this.#stalledMs > 0 && nowMs - this.#stalledAtMs < STALL_MS
    if (!stalled && this.#leastWithAudio !== Number.POSITIVE_INFINITY) this.#leadMs = this.#leastWithAudio
    this.#leastWithAudio = Number.POSITIVE_INFINITY
    if (residualMs >= TWO_FRAMES) {
      // A stall may repeat: keep part of the last frame and watch it for a longer window.
      residualMs = Math.ceil(residualMs / FRAME_MS - 1) * FRAME_MS
    } else {
      if (this.#windows < LONG_WINDOWS) return 0
      standingMs = this.#leastOfWindows
      residualMs = standingMs - cushionMs
    }
    this.#restartWindow()
    this.surplusMs = 0
    if (residualMs <= 0) return 0
    const wholeMs = wholeFrames(residualMs)
    const lateMs = stalled ? this.#lateMs(standingMs) : 0
    const skipMs = this.#isEcho() ? wholeMs : Math.min(wholeMs, lateMs)
    if (skipMs > 0) this.#shorten(skipMs, nowMs)
    this.#stalledMs -= skipMs
    this.surplusMs = wholeMs - skipMs
    if (this.surplusMs === 0) this.residualMs = residualMs - wholeMs
    return skipMs
  }

  /** Records that `ms` of silence were skipped. */
  silenceSkipped(ms: number, nowMs: number): void {
    this.#shorten(ms, nowMs)
    this.surplusMs -= ms
    this.#restartWindow()
  }

  /** Returns the part (ms, whole frames) of a wait that a stall added to the lead of the bot. */
  #lateMs(waitMs: number): number {
    if (Number.isNaN(this.#leadMs)) return 0
    return wholeFrames(Math.min(this.#stalledMs, waitMs - this.#leadMs))
  }

  /** True while the bot returns no more and hardly less than it receives: its audio waits only by lateness. */
  #isEcho(): boolean {
    return this.#echo && this.#sentTotalMs - this.#acceptedMs <= ECHO_MS
  }

  /** Adds the frames without audio that the present burst makes up for. */
  #measureStall(nowMs: number): void {
    if (this.#emptyMs === 0 || this.#burstMs < CATCH_UP * this.#burstGapMs) return
    if (nowMs - this.#stalledAtMs >= STALL_MS) this.#stalledMs = 0
    this.#stalledMs += this.#emptyMs
    this.#stalledAtMs = nowMs
    this.#emptyMs = 0
  }

  /** Records that the frame clock was advanced, so that audio waits `ms` less from now on. */
  playoutAdvanced(ms: number, nowMs: number): void {
    this.#shorten(ms, nowMs)
    this.#restartWindow()
  }

  #shorten(ms: number, nowMs: number): void {
    this.#shortenedMs = nowMs
    this.#minWaitMs = Math.max(0, this.#minWaitMs - ms)
    this.#minWaitBeforeMs = 0
  }

  /** True when the bot leads real time by more than an echo could explain. */
  #leadsBeyondEcho(nowMs: number): boolean {
    const leadMs = this.#acceptedMs - (nowMs - this.#epochMs)
    const missingMs = this.#sentTotalMs - this.#sentMs - this.#acceptedMs
    this.#leads = leadMs > AHEAD_MS && missingMs > IN_FLIGHT_MS ? this.#leads + 1 : 0
    return this.#leads >= LEAD_FRAMES
  }

  /** Counts the finished burst as paced speech when it fills the time since the burst before it. */
  #beginBurst(ms: number, gapMs: number): void {
    const fills = this.#burstMs + FRAME_MS >= this.#burstGapMs * 0.8
    const fits = this.#burstMs <= this.#burstGapMs * 1.5 + 2 * FRAME_MS
    // The cap keeps a single burst from proving anything.
    if (fills && fits) this.#pacedMs += Math.min(this.#burstMs, AHEAD_MS)
    this.#burstMs = ms
    this.#burstGapMs = gapMs
  }

  #restartWindow(): void {
    this.#least = Number.POSITIVE_INFINITY
    this.#leastOfWindows = Number.POSITIVE_INFINITY
    this.#frames = 0
    this.#windows = 0
  }
}

function wholeFrames(ms: number): number {
  return Math.floor((ms + ROUNDING_MS) / FRAME_MS) * FRAME_MS
}
