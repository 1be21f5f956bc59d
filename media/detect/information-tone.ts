import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import type { InformationTone } from './events.js'
import type { FrameView } from './frame-view.js'
import { ToneRun } from './tone-run.js'

/*
 * Special information tones: three rising tones of a third of a second each before an announcement (E.180:
 * 950, 1400 and 1800 Hz within 50 Hz). North America encodes the reason in the lengths of the first two, 276
 * or 380 ms, and shifts them by 35 Hz, which telephone lines do as well.
 */
const LOW_HERTZ = 850
const HIGH_HERTZ = 1900
const NOMINAL = [950, 1400, 1790]
const WITHIN_HERTZ = 65
const MIN_MS = 180
const MAX_MS = 480
const MAX_GAP_MS = 60
const LONG_MS = 330

/** Opens the detector of special information tones. */
export function openInformationTone({ report }: DetectorOptions): Detector {
  return new InformationToneDetector(report)
}

class InformationToneDetector implements Detector {
  readonly #report: ReportEvent
  readonly #run = new ToneRun(LOW_HERTZ, HIGH_HERTZ)
  /** Number of tones detected so far, and the end of the last one. */
  #heard = 0
  #startMs = 0
  #endMs = 0
  #firstLong = false
  #secondLong = false
  #firstHertz = 0

  constructor(report: ReportEvent) {
    this.#report = report
  }

  process(view: FrameView): void {
    if (this.#run.process(view)) {
      const { hertz, startMs, ms } = this.#run.ended
      this.#next(hertz, startMs, ms)
    }
  }

  #next(hertz: number, startMs: number, ms: number): void {
    const joins = this.#heard > 0 && startMs - this.#endMs <= MAX_GAP_MS && fits(hertz, this.#heard)
    if (!joins) this.#heard = 0
    if (ms < MIN_MS || ms > MAX_MS || !fits(hertz, this.#heard)) {
      this.#heard = 0
      return
    }
    this.#endMs = startMs + ms
    if (this.#heard === 0) {
      this.#heard = 1
      this.#startMs = startMs
      this.#firstHertz = hertz
      this.#firstLong = ms > LONG_MS
      return
    }
    this.#heard++
    if (this.#heard === 2) {
      this.#secondLong = ms > LONG_MS
      return
    }
    this.#heard = 0
    this.#report({ type: 'information_tone', meaning: this.#meaning(), startMs: Math.round(this.#startMs) })
  }

  #meaning(): InformationTone {
    // The three equal tones of E.180 at 950 Hz encode no reason.
    if (Math.abs(this.#firstHertz - 950) < 15) return 'unknown'
    if (this.#firstLong) return this.#secondLong ? 'no_circuit' : 'vacant_number'
    return this.#secondLong ? 'reorder' : 'intercept'
  }
}

function fits(hertz: number, index: number): boolean {
  return Math.abs(hertz - (NOMINAL[index] ?? 0)) <= WITHIN_HERTZ
}
