import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** Softer than -52 dB of a full-scale sine nothing is measured: the idle noise of a line. */
const MIN_POWER = (32768 ** 2 / 2) * 10 ** -5.2

/**
 * The frequency of a frame that is one tone, and how much of the frame it is.
 *
 * A sine obeys x[n-1] + x[n+1] = 2 cos(w) x[n]; the least-squares solution of that over the frame is
 * its frequency, for the cost of three sums. How much of the power really lies there (within the 50 Hz
 * that 20 ms resolve) is then measured at that one frequency: speech has its harmonics elsewhere.
 */
export class ToneMeter {
  /** 0 when the frame is too soft. */
  hertz = 0
  /** Share of the frame's power at `hertz`, 0..1. */
  share = 0
  readonly #rate: SessionRate
  readonly #step: number
  readonly #samples: number

  constructor(rate: SessionRate) {
    this.#rate = rate
    // The same angle between the three samples at both rates.
    this.#step = rate / 8000
    this.#samples = (rate / 1000) * FRAME_MS
  }

  measure(pcm: Int16Array, power: number): void {
    this.hertz = 0
    this.share = 0
    if (power < MIN_POWER) return
    const step = this.#step
    let cross = 0
    let own = 0
    let both = 0
    for (let i = step; i < pcm.length - step; i++) {
      const x = pcm[i] as number
      const around = (pcm[i - step] as number) + (pcm[i + step] as number)
      cross += x * around
      own += x * x
      both += around * around
    }
    if (own === 0) return
    // White noise adds to `own` but not to `cross`; the residue tells how much of it there is.
    const slope = cross / own
    const residue = Math.max(0, both / own - slope * slope)
    const noise = Math.min(0.5, residue / (2 + slope * slope))
    const cosine = slope / (2 * (1 - noise))
    if (cosine <= -1 || cosine >= 1) return
    const hertz = (Math.acos(cosine) * 8000) / (2 * Math.PI)
    this.hertz = hertz
    this.share = this.#powerAt(pcm, hertz) / power
  }

  /** Power of the tone at `hertz` in the frame: one Goertzel filter. */
  #powerAt(pcm: Int16Array, hertz: number): number {
    const coefficient = 2 * Math.cos((2 * Math.PI * hertz) / this.#rate)
    let s1 = 0
    let s2 = 0
    for (let i = 0; i < pcm.length; i++) {
      const s0 = (pcm[i] as number) + coefficient * s1 - s2
      s2 = s1
      s1 = s0
    }
    const n = this.#samples
    return (2 * (s1 * s1 + s2 * s2 - coefficient * s1 * s2)) / (n * n)
  }
}
