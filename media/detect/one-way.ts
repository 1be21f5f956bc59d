import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import { type FrameView, powerOfDb } from './frame-view.js'

/** No packet arrived for this long (ms) although Parley sends and the peer may send. */
const NOTHING_MS = 3000
/** Packets sent meanwhile. Without them the peer has no reason to answer. */
const MIN_SENT = 100
/** Below the noise of any microphone and line. */
const DEAD_POWER = powerOfDb(-66)
const DEAD_MS = 10_000

type OneWayFault = 'nothing_comes' | 'only_silence'

/** Opens the detector of one-way audio. It needs `Detectors.traffic`. */
export function openOneWay({ report }: DetectorOptions): Detector {
  return new OneWayDetector(report)
}

class OneWayDetector implements Detector {
  readonly #report: ReportEvent
  #received = -1
  #sentAtChange = 0
  #changedMs = 0
  #deadFromMs = -1
  #packetsSinceDead = 0
  #raised: OneWayFault | null = null
  #raisedFromMs = 0

  constructor(report: ReportEvent) {
    this.#report = report
  }

  process({ power, atMs, traffic }: FrameView): void {
    const { sent, received, expected } = traffic
    if (received !== this.#received || !expected) {
      if (this.#deadFromMs >= 0) this.#packetsSinceDead += Math.max(0, received - this.#received)
      this.#received = received
      this.#sentAtChange = sent
      this.#changedMs = atMs
      this.#clear('nothing_comes')
    } else if (atMs - this.#changedMs >= NOTHING_MS && sent - this.#sentAtChange >= MIN_SENT) {
      this.#raise('nothing_comes', this.#changedMs)
    }
    if (power >= DEAD_POWER || !expected) {
      this.#deadFromMs = -1
      this.#packetsSinceDead = 0
      this.#clear('only_silence')
      return
    }
    if (this.#deadFromMs < 0) this.#deadFromMs = atMs
    // At least half of all packets must arrive: a peer with silence suppression sends fewer.
    const enough = (atMs - this.#deadFromMs) / 40
    if (atMs - this.#deadFromMs >= DEAD_MS && this.#packetsSinceDead >= enough) {
      this.#raise('only_silence', this.#deadFromMs)
    }
  }

  #raise(what: OneWayFault, startMs: number): void {
    if (this.#raised !== null) return
    this.#raised = what
    this.#raisedFromMs = startMs
    this.#report({ type: 'one_way', what, startMs, over: false })
  }

  #clear(what: OneWayFault): void {
    if (this.#raised !== what) return
    this.#raised = null
    this.#report({ type: 'one_way', what, startMs: this.#raisedFromMs, over: true })
  }
}
