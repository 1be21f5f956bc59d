import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import type { FrameView } from './frame-view.js'

/**
 * The highest codes of both G.711 laws are 32,124 and 32,256, and 32,767 is the 16-bit maximum. The next
 * lower codes are below 31,300.
 */
const RAIL = 31_900
/** Consecutive samples at full scale, at 8 kHz. A loud sine stays there for three, a clipped one for more. */
const RUN_SAMPLES = 4
const WINDOW_FRAMES = 50
/**
 * Clipping is reported when this many frames of a second were clipped. A second without clipping resets it.
 */
const MANY_FRAMES = 5

/** Opens the detector of audio that is clipped at full scale. */
export function openClipping({ rate, report }: DetectorOptions): Detector {
  return new ClippingDetector(rate / 8000, report)
}

class ClippingDetector implements Detector {
  readonly #report: ReportEvent
  readonly #needed: number
  #run = 0
  #sign = 0
  #frames = 0
  #clipped = 0
  #fromMs = -1
  #reported = false

  constructor(ratio: number, report: ReportEvent) {
    this.#needed = RUN_SAMPLES * ratio
    this.#report = report
  }

  process({ pcm, atMs, peak }: FrameView): void {
    if (peak < RAIL) this.#run = 0
    else if (this.#isClipped(pcm)) {
      this.#clipped++
      if (this.#fromMs < 0) this.#fromMs = atMs
    }
    if (++this.#frames < WINDOW_FRAMES) return
    if (this.#clipped >= MANY_FRAMES && !this.#reported) {
      this.#reported = true
      this.#report({ type: 'clipping', startMs: this.#fromMs, share: this.#clipped / WINDOW_FRAMES })
    }
    if (this.#clipped === 0) this.#reported = false
    this.#frames = 0
    this.#clipped = 0
    this.#fromMs = -1
  }

  #isClipped(pcm: Int16Array): boolean {
    let found = false
    let run = this.#run
    let sign = this.#sign
    for (let i = 0; i < pcm.length; i++) {
      const sample = pcm[i] as number
      const side = sample >= RAIL ? 1 : sample <= -RAIL ? -1 : 0
      run = side !== 0 && side === sign ? run + 1 : side === 0 ? 0 : 1
      sign = side
      if (run >= this.#needed) found = true
    }
    this.#run = run
    this.#sign = sign
    return found
  }
}
