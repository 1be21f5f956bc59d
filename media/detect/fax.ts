import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import type { FrameView } from './frame-view.js'
import { ToneRun } from './tone-run.js'

/*
 * ITU-T T.30: a calling fax sends 1100 Hz within 38 Hz for half a second (within 15 %) every three seconds.
 * An answering fax sends 2100 Hz within 15 Hz for 2.6 to 4 s (V.8 may reverse the phase every 450 ms).
 */
const CALLING_HERTZ = 1100
const CALLING_WITHIN = 38
const CALLING_MIN_MS = 425
const CALLING_MAX_MS = 575
const ANSWERING_HERTZ = 2100
const ANSWERING_WITHIN = 25
/** Enough of the answering tone: no other tone stays at 2100 Hz for this long (ms). */
const ANSWERING_MS = 700

export function isFaxCall(hertz: number, ms: number): boolean {
  return Math.abs(hertz - CALLING_HERTZ) <= CALLING_WITHIN && ms >= CALLING_MIN_MS && ms <= CALLING_MAX_MS
}

/** Opens the detector of fax machines. It reports each side once. */
export function openFax({ report }: DetectorOptions): Detector {
  return new FaxDetector(report)
}

class FaxDetector implements Detector {
  readonly #report: ReportEvent
  readonly #calling = new ToneRun(CALLING_HERTZ - CALLING_WITHIN, CALLING_HERTZ + CALLING_WITHIN)
  readonly #answering = new ToneRun(ANSWERING_HERTZ - ANSWERING_WITHIN, ANSWERING_HERTZ + ANSWERING_WITHIN, 1)
  #called = false
  #answered = false

  constructor(report: ReportEvent) {
    this.#report = report
  }

  process(view: FrameView): void {
    const { ended } = this.#calling
    if (this.#calling.process(view) && !this.#called && isFaxCall(ended.hertz, ended.ms)) {
      this.#called = true
      this.#report({ type: 'fax', side: 'calling', startMs: Math.round(ended.startMs) })
    }
    this.#answering.process(view)
    if (this.#answered || this.#answering.ms < ANSWERING_MS) return
    this.#answered = true
    this.#report({ type: 'fax', side: 'answering', startMs: Math.round(this.#answering.startMs) })
  }
}
