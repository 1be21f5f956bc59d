import { FRAME_MS } from '../base/frame.js'
import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import { type FrameView, powerOfDb } from './frame-view.js'

/** Softer audio is line noise. */
const QUIET_POWER = powerOfDb(-50)
/** Longer than the pause of a listener during one sentence. */
const TELL_AFTER_MS = 10_000
/** Sound must last this long (ms) to end the silence; a click does not. */
const SOUND_MS = 60

/** Opens the detector of long silence. */
export function openSilence({ report }: DetectorOptions): Detector {
  return new SilenceDetector(report)
}

class SilenceDetector implements Detector {
  readonly #report: ReportEvent
  #quietFromMs = -1
  #soundMs = 0
  #reported = false

  constructor(report: ReportEvent) {
    this.#report = report
  }

  process({ power, atMs }: FrameView): void {
    if (power < QUIET_POWER) {
      this.#soundMs = 0
      if (this.#quietFromMs < 0) this.#quietFromMs = atMs
      if (this.#reported || atMs + FRAME_MS - this.#quietFromMs < TELL_AFTER_MS) return
      this.#reported = true
      this.#report({ type: 'silence', startMs: this.#quietFromMs, over: false })
      return
    }
    this.#soundMs += FRAME_MS
    if (this.#soundMs < SOUND_MS) return
    if (this.#reported) this.#report({ type: 'silence', startMs: this.#quietFromMs, over: true })
    this.#reported = false
    this.#quietFromMs = -1
  }
}
