import { FRAME_MS } from '../base/frame.js'
import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import { isFaxCall } from './fax.js'
import { type FrameView, powerOfDb } from './frame-view.js'
import { isNetworkBurst } from './tone-plans.js'
import { ToneRun } from './tone-run.js'

/** Frequency range of answering machine beeps (Hz). */
const LOW_HERTZ = 350
const HIGH_HERTZ = 2000
const MIN_POWER = powerOfDb(-36)
/** Shorter tones are clicks and ends of vowels, longer ones are network tones. */
const MIN_MS = 110
const MAX_MS = 1500
/** A beep stands alone: another tone within this time (ms) makes it part of a melody or an announcement. */
const ALONE_MS = 100
const BEFORE_MS = 300

/** Opens the detector of the tone after which an answering machine records. */
export function openBeep({ report }: DetectorOptions): Detector {
  return new BeepDetector(report)
}

class BeepDetector implements Detector {
  readonly #report: ReportEvent
  readonly #run = new ToneRun(LOW_HERTZ, HIGH_HERTZ)
  /** The candidate tone (0 Hz when there is none), and the time since its end. */
  #hertz = 0
  #startMs = 0
  #ms = 0
  #quietMs = BEFORE_MS

  constructor(report: ReportEvent) {
    this.#report = report
  }

  process(view: FrameView): void {
    const run = this.#run
    if (run.process(view)) {
      const { hertz, startMs, ms, power } = run.ended
      // Short tones within speech do not make a melody.
      if (ms >= MIN_MS / 2) this.#ended(hertz, startMs, ms, power)
    }
    if (run.active) return
    this.#quietMs += FRAME_MS
    if (this.#hertz === 0 || this.#quietMs < ALONE_MS) return
    this.#report({
      type: 'beep',
      hertz: Math.round(this.#hertz),
      startMs: Math.round(this.#startMs),
      durationMs: Math.round(this.#ms),
    })
    this.#hertz = 0
  }

  #ended(hertz: number, startMs: number, ms: number, power: number): void {
    const again = this.#hertz !== 0 && Math.abs(hertz - this.#hertz) < hertz * 0.02
    const alone = this.#quietMs >= BEFORE_MS || again
    this.#quietMs = 0
    this.#hertz = 0
    if (!alone || power < MIN_POWER || ms < MIN_MS || ms > MAX_MS) return
    if (isNetworkBurst(hertz, ms) || isFaxCall(hertz, ms)) return
    this.#hertz = hertz
    this.#startMs = startMs
    this.#ms = ms
  }
}
