import { FRAME_MS, type SessionRate } from '../base/frame.js'

/** Frames below -52 dB of a full-scale sine are not measured: idle line noise. */
const MIN_POWER = (32768 ** 2 / 2) * 10 ** -5.2

/**
 * Measures the frequency of a frame that is a single tone, and the share of the tone in its power.
 *
 * A sine satisfies x[n-1] + x[n+1] = 2 cos(w) x[n]. The least-squares solution over the frame gives the
 * frequency for the cost of three sums. The power at that frequency is then measured (within the 50 Hz that
 * 20 ms resolve), because speech has harmonics elsewhere.
 */
export class ToneMeter {
  /** Frequency (Hz); 0 when the frame is too soft. */
  hertz = 0
  /** Share of the frame's power at `hertz`, 0 to 1. */
  share = 0
  readonly #rate: SessionRate
  readonly #step: number
  readonly #samples: number

  constructor(rate: SessionRate) {
    this.#rate = rate
    // The three samples span the same angle at both rates.
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
    // White noise adds to `own` but not to `cross`. The residue shows how much noise there is.
    const slope = cross / own
    const residue = Math.max(0, both / own - slope * slope)
    const noise = Math.min(0.5, residue / (2 + slope * slope))
    const cosine = slope / (2 * (1 - noise))
    if (cosine <= -1 || cosine >= 1) return
    const hertz = (Math.acos(cosine) * 8000) / (2 * Math.PI)
    this.hertz = hertz
    this.share = this.#powerAt(pcm, hertz) / power
  }

  /** Returns the power of the tone at `hertz` in the frame, by a Goertzel filter. */
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
