import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { PHASE_MS as STEP_MS } from '../../session/frame-clock.js'
import { durationMs, type EncodedAudio } from './audio-format.js'
import { LatencyMonitor } from './latency-monitor.js'
import { PlaybackQueue } from './playback-queue.js'

/**
 * The frame clock may wait for late audio in one of this many frames, with a reserve for a few in a row.
 * Audio that is late more often is delayed as a whole.
 */
const WAIT_FRAMES = 10
const MAX_PATIENCE = 10 * WAIT_FRAMES

/**
 * Bound of all phase advances in one call (steps). Audio that keeps arriving earlier comes from a sender
 * whose clock runs too fast.
 */
const MAX_STEPS = 8

/**
 * The bot's audio on its way to the caller. Keeps the playback queue short while the bot speaks in real time:
 * advances the frame clock when audio waits longer than necessary, skips what a stall made late, and skips
 * silence of any other standing backlog.
 */
export class LatencyController {
  readonly queue: PlaybackQueue
  /** Late audio that was skipped (ms). */
  trimmedMs = 0
  readonly #advancePhase: (ms: number) => boolean
  readonly #monitor = new LatencyMonitor()
  #steps = MAX_STEPS
  /** Credit for waiting: each frame adds one, each wait costs `WAIT_FRAMES`. */
  #patience = MAX_PATIENCE
  /** Time (ms) of the first tick that found the queue empty after audio. */
  #emptySinceMs = Number.NaN
  /** Length (ms) of the frames played without audio since then. */
  #emptyMs = 0
  /** The last tick played audio. */
  #hasAudio = false

  /**
   * @param advancePhase moves the frame clock earlier by whole steps (ms) from now on; returns false when it
   * cannot.
   */
  constructor(rate: SessionRate, advancePhase: (ms: number) => boolean) {
    this.queue = new PlaybackQueue(rate)
    this.#advancePhase = advancePhase
  }

  /**
   * Queues audio that just arrived; returns false when the queue is full. `sentMs` is the total audio sent to
   * the bot so far (ms).
   */
  enqueue(audio: EncodedAudio, nowMs: number, sentMs: number): boolean {
    const { underruns } = this.queue
    const emptyMs = this.#emptyMs
    if (!this.queue.enqueue(audio.bytes, audio.format, nowMs)) return false
    if (this.queue.underruns > underruns) this.#monitor.underrun(nowMs, nowMs - this.#emptySinceMs)
    this.#monitor.audioArrived(durationMs(audio), nowMs, sentMs, emptyMs)
    this.#emptyMs = 0
    return true
  }

  /** False when the next 20 ms of a real-time bot are due, have not arrived, and may be waited for. */
  get ready(): boolean {
    return !this.queue.starved || this.#patience < WAIT_FRAMES || !this.#monitor.isLive
  }

  /** Notes that the frame clock waited for the audio of the next `pull`. */
  pullDelayed(): void {
    this.#patience -= WAIT_FRAMES
  }

  /** Writes the next 20 ms into `into`; returns false when there is no audio. */
  pull(into: Int16Array, nowMs: number): boolean {
    const hasAudio = this.queue.pull(into)
    this.#hasAudio = hasAudio
    if (this.#patience < MAX_PATIENCE) this.#patience++
    if (!this.queue.dry) {
      this.#emptySinceMs = Number.NaN
      this.#emptyMs = 0
      return hasAudio
    }
    if (Number.isNaN(this.#emptySinceMs)) this.#emptySinceMs = nowMs
    this.#emptyMs += FRAME_MS
    return hasAudio
  }

  /** Runs on each tick after `pull` and keeps the playout delay as short as possible. */
  trimBacklog(nowMs: number): void {
    const waitedMs = Math.max(0, nowMs - this.queue.arrivedMs, this.queue.queuedMs)
    const lateMs = this.#monitor.framePlayed(waitedMs, nowMs, this.#hasAudio)
    if (lateMs > 0) this.trimmedMs += this.queue.skip(lateMs)
    else if (this.#monitor.surplusMs >= FRAME_MS && this.queue.quietFor(FRAME_MS)) {
      this.trimmedMs += this.queue.skip(FRAME_MS)
      this.#monitor.silenceSkipped(FRAME_MS, nowMs)
    }
    const steps = Math.floor(this.#monitor.residualMs / STEP_MS)
    if (steps > 0) this.#advance(steps, nowMs)
  }

  /** Forgets the timing of audio the bot sent so far. */
  reset(nowMs: number): void {
    this.#monitor.reset(nowMs)
  }

  #advance(wanted: number, nowMs: number): void {
    const steps = Math.min(wanted, this.#steps)
    if (steps === 0 || !this.#advancePhase(steps * STEP_MS)) return
    this.#steps -= steps
    this.#monitor.playoutAdvanced(steps * STEP_MS, nowMs)
  }
}
