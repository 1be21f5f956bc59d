import type { SessionRate } from '../base/frame.js'
import { openBeep } from './beep.js'
import { openClipping } from './clipping.js'
import type { Detector, OpenDetector, ReportEvent } from './detector.js'
import { openDtmf } from './dtmf.js'
import { openFax } from './fax.js'
import { FrameView } from './frame-view.js'
import { openInformationTone } from './information-tone.js'
import { openOneWay } from './one-way.js'
import { openProgress } from './progress-tone.js'
import { openSilence } from './silence.js'

/** All detectors by name. To add one, add a file and a line here. */
export const DETECTORS = {
  dtmf: openDtmf,
  beep: openBeep,
  progress: openProgress,
  informationTone: openInformationTone,
  fax: openFax,
  silence: openSilence,
  clipping: openClipping,
  oneWay: openOneWay,
} as const satisfies Record<string, OpenDetector>

export type DetectorName = keyof typeof DETECTORS

/** Runs the named detectors on the audio of one party. Calls `report` from within `process`. */
export class Detectors {
  readonly #view: FrameView
  readonly #rate: SessionRate
  readonly #report: ReportEvent
  readonly #running: { readonly name: DetectorName; readonly detector: Detector }[] = []

  constructor(rate: SessionRate, names: readonly DetectorName[], report: ReportEvent) {
    this.#rate = rate
    this.#report = report
    this.#view = new FrameView(rate)
    for (const name of names) this.start(name)
  }

  /** Starts a detector with the next frame. Does nothing when it is running. */
  start(name: DetectorName): void {
    if (this.#running.some((one) => one.name === name)) return
    this.#running.push({ name, detector: DETECTORS[name]({ rate: this.#rate, report: this.#report }) })
  }

  /** Stops a detector. It costs nothing from the next frame on. */
  stop(name: DetectorName): void {
    const index = this.#running.findIndex((one) => one.name === name)
    if (index !== -1) this.#running.splice(index, 1)
  }

  /** Updates the packet counts of the leg. Counts that are a second old are good enough. */
  traffic(sent: number, received: number, expected: boolean): void {
    const { traffic } = this.#view
    traffic.sent = sent
    traffic.received = received
    traffic.expected = expected
  }

  /** Processes consecutive 20 ms of the party. Ignores a frame of any other length. Allocates nothing. */
  process(pcm: Int16Array, atMs: number): void {
    const view = this.#view
    if (this.#running.length === 0 || pcm.length !== this.#rate / 50) return
    view.load(pcm, atMs)
    for (let i = 0; i < this.#running.length; i++) this.#running[i]?.detector.process(view)
  }
}
