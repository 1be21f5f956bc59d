import { FRAME_MS } from '../base/frame.js'
import type { FrameView } from './frame-view.js'

/** A frame that is a single tone has at least this share of its power there. Noise at 7 dB leaves 0.83. */
const MIN_SHARE = 0.8
/** A tone stays within 1.5 % and 6 dB from frame to frame. */
const MAX_DRIFT = 0.015
const MAX_STEP = 4

/** Follows a steady single tone between two frequencies from frame to frame. */
export class ToneRun {
  /** The current tone; 0 when there is none. */
  ms = 0
  hertz = 0
  power = 0
  startMs = 0
  /** The tone that ended with the last frame, when `process` returned true. */
  readonly ended = { hertz: 0, power: 0, startMs: 0, ms: 0 }
  readonly #low: number
  readonly #high: number
  readonly #bridge: number
  #frames = 0
  #missed = 0
  #shareBefore = 0
  #hertzBefore = 0

  /** @param bridge number of frames that may be missing within a tone, for tones with phase reversals */
  constructor(low: number, high: number, bridge = 0) {
    this.#low = low
    this.#high = high
    this.#bridge = bridge
  }

  get active(): boolean {
    return this.#frames > 0
  }

  /** Returns true when a tone ended with this frame. The next one may begin with it. */
  process(view: FrameView): boolean {
    const { hertz, share } = view.tone
    const tonal = share >= MIN_SHARE && hertz >= this.#low && hertz <= this.#high
    let over = false
    if (this.#frames > 0) {
      const same =
        tonal &&
        Math.abs(hertz - this.hertz) <= this.hertz * MAX_DRIFT &&
        view.power < this.power * MAX_STEP &&
        view.power * MAX_STEP > this.power
      if (same) this.#add(view)
      else if (!tonal && this.#missed < this.#bridge && view.power * MAX_STEP > this.power) {
        this.#missed++
        this.ms += FRAME_MS
      } else {
        // A frame that the tone fills in part contributes by its share.
        if (!tonal && Math.abs(hertz - this.hertz) <= this.hertz * 0.05) this.ms += share * FRAME_MS
        over = this.#end()
      }
    }
    if (this.#frames === 0 && tonal) this.#begin(view)
    this.#shareBefore = tonal ? 0 : share
    this.#hertzBefore = hertz
    return over
  }

  #begin(view: FrameView): void {
    this.hertz = view.tone.hertz
    this.power = view.power
    this.#frames = 1
    this.#missed = 0
    const before = Math.abs(this.#hertzBefore - this.hertz) <= this.hertz * 0.05 ? this.#shareBefore : 0
    this.startMs = view.atMs - before * FRAME_MS
    this.ms = (1 + before) * FRAME_MS
  }

  #add(view: FrameView): void {
    this.#frames++
    this.#missed = 0
    this.ms += FRAME_MS
    const weight = 1 / Math.min(this.#frames, 10)
    this.hertz += weight * (view.tone.hertz - this.hertz)
    this.power += weight * (view.power - this.power)
  }

  #end(): boolean {
    this.ended.hertz = this.hertz
    this.ended.power = this.power
    this.ended.startMs = this.startMs
    this.ended.ms = this.ms - this.#missed * FRAME_MS
    this.#frames = 0
    this.ms = 0
    this.hertz = 0
    this.power = 0
    return true
  }
}
