import type { SessionRate } from '../../base/frame.js'
import { PHASE_MS as STEP_MS } from '../../session/frame-clock.js'
import { durationMs, type EncodedAudio } from './audio-format.js'
import { LatencyMonitor } from './latency-monitor.js'
import { PlaybackQueue } from './playback-queue.js'

/**
 * A beat may wait for late sound so seldom, one in so many frames, but for some in a row: what is late more
 * often, all sound waits for.
 */
const WAIT_FRAMES = 10
const MOST_PATIENCE = 10 * WAIT_FRAMES

/** All moves of a call together: packets that come ever sooner are a sender whose clock runs too fast. */
const MOST_STEPS = 8

/**
 * What a bot says, on its way to the caller: its queue, kept short while the bot is live. Sound that waits
 * for the next beat longer than it must is played on an earlier one; whole frames that wait without need
 * are left out.
 */
export class BotPlayout {
  readonly queue: PlaybackQueue
  /** Late sound left out. */
  trimmedMs = 0
  readonly #sooner: (ms: number) => boolean
  readonly #watch = new LatencyMonitor()
  #steps = MOST_STEPS
  /** Frames since waits, so to say. */
  #patience = MOST_PATIENCE
  /** When the beat found nothing, after sound. */
  #dryMs = Number.NaN

  /** @param sooner has beats come so much earlier from now on, whole steps; false when they cannot. */
  constructor(rate: SessionRate, sooner: (ms: number) => boolean) {
    this.queue = new PlaybackQueue(rate)
    this.#sooner = sooner
  }

  /** Takes sound that came just now; false when it is too much. `sentMs` is what the bot was sent so far. */
  enqueue(what: EncodedAudio, nowMs: number, sentMs: number): boolean {
    const { underruns } = this.queue
    if (!this.queue.enqueue(what.bytes, what.format, nowMs)) return false
    if (this.queue.underruns > underruns) this.#watch.underrun(nowMs, nowMs - this.#dryMs)
    this.#watch.audioArrived(durationMs(what), nowMs, sentMs)
    return true
  }

  /** False when the next 20 ms of a live bot have not come although they are due, and may be waited for. */
  get ready(): boolean {
    return !this.queue.starved || this.#patience < WAIT_FRAMES || !this.#watch.isLive
  }

  /** What is pulled next was waited for. */
  pullDelayed(): void {
    this.#patience -= WAIT_FRAMES
  }

  /** The next 20 ms; false when there is nothing. */
  pull(into: Int16Array, nowMs: number): boolean {
    const sounding = this.queue.pull(into)
    if (this.#patience < MOST_PATIENCE) this.#patience++
    if (!this.queue.dry) this.#dryMs = Number.NaN
    else if (Number.isNaN(this.#dryMs)) this.#dryMs = nowMs
    return sounding
  }

  /** After `pull`, on the beat: keeps the wait as short as it can be. */
  trimBacklog(nowMs: number): void {
    const waitedMs = Math.max(0, nowMs - this.queue.arrivedMs, this.queue.queuedMs)
    const excessMs = this.#watch.framePlayed(waitedMs, nowMs)
    if (excessMs > 0) this.trimmedMs += this.queue.skip(excessMs)
    const spare = Math.floor(this.#watch.residualMs / STEP_MS)
    if (spare > 0) this.#hasten(spare, nowMs)
  }

  /** The bot begins anew. */
  reset(nowMs: number): void {
    this.#watch.reset(nowMs)
  }

  #hasten(wanted: number, nowMs: number): void {
    const steps = Math.min(wanted, this.#steps)
    if (steps === 0 || !this.#sooner(steps * STEP_MS)) return
    this.#steps -= steps
    this.#watch.playoutAdvanced(steps * STEP_MS, nowMs)
  }
}
