import type { Detector, DetectorOptions, Tell } from './detector.js'
import { type FrameView, powerOfDb } from './frame-view.js'

/** Nothing came for this long although we send and the far side may send: three RTCP-less seconds. */
const NOTHING_MS = 3000
/** Packets we sent meanwhile: without, nobody has reason to answer. */
const MIN_SENT = 100
/** Below the noise of any microphone and line. */
const DEAD_POWER = powerOfDb(-66)
const DEAD_MS = 10_000

type What = 'nothing_comes' | 'only_silence'

/** Audio that goes one way only. Needs `Detectors.traffic`. */
export function openOneWay({ tell }: DetectorOptions): Detector {
  return new OneWayDetector(tell)
}

class OneWayDetector implements Detector {
  readonly #tell: Tell
  #received = -1
  #sentThen = 0
  #changedMs = 0
  #deadFromMs = -1
  #packetsSinceDead = 0
  #told: What | null = null
  #toldFromMs = 0

  constructor(tell: Tell) {
    this.#tell = tell
  }

  frame({ power, atMs, traffic }: FrameView): void {
    const { sent, received, expected } = traffic
    if (received !== this.#received || !expected) {
      if (this.#deadFromMs >= 0) this.#packetsSinceDead += Math.max(0, received - this.#received)
      this.#received = received
      this.#sentThen = sent
      this.#changedMs = atMs
      this.#over('nothing_comes')
    } else if (atMs - this.#changedMs >= NOTHING_MS && sent - this.#sentThen >= MIN_SENT) {
      this.#is('nothing_comes', this.#changedMs)
    }
    if (power >= DEAD_POWER || !expected) {
      this.#deadFromMs = -1
      this.#packetsSinceDead = 0
      this.#over('only_silence')
      return
    }
    if (this.#deadFromMs < 0) this.#deadFromMs = atMs
    // Half of all packets at least: a sender with silence suppression is not dead.
    const enough = (atMs - this.#deadFromMs) / 40
    if (atMs - this.#deadFromMs >= DEAD_MS && this.#packetsSinceDead >= enough) {
      this.#is('only_silence', this.#deadFromMs)
    }
  }

  #is(what: What, startMs: number): void {
    if (this.#told !== null) return
    this.#told = what
    this.#toldFromMs = startMs
    this.#tell({ type: 'one_way', what, startMs, over: false })
  }

  #over(what: What): void {
    if (this.#told !== what) return
    this.#told = null
    this.#tell({ type: 'one_way', what, startMs: this.#toldFromMs, over: true })
  }
}
