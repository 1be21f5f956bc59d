/*
 * The features of Whisper's encoder, on which turn detectors are built: logarithms of 80 mel bands, windows
 * of 25 ms every 10 ms. The audio is first normalised to mean 0 and variance 1.
 */

export const MEL_BANDS = 80
/** Samples between two windows at 16 kHz. */
export const MEL_HOP = 160
const WINDOW = 400
const BINS = WINDOW / 2 + 1
const RATE = 16_000
const RADICES = [4, 4, 5, 5] as const
const FLOOR = 1e-10
/** Dynamic range below the loudest value, as a power of ten. */
const RANGE = 8

/** Computes the features of audio of one length. Not reentrant: it uses its own buffers. */
export class LogMel {
  readonly frames: number
  readonly #fourier = new Fourier(WINDOW)
  readonly #filters = melFilters()
  readonly #hann = Float64Array.from(
    { length: WINDOW },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW),
  )
  readonly #audio: Float64Array
  readonly #power = [new Float64Array(BINS), new Float64Array(BINS)] as const

  /** `samples` at 16 kHz, a multiple of 160. */
  constructor(samples: number) {
    this.frames = samples / MEL_HOP
    this.#audio = new Float64Array(samples + WINDOW)
  }

  /**
   * Returns `[80, frames]`, band by band. The first `silent` samples of `pcm` (full scale 1) must be zero;
   * their windows are then computed only once.
   */
  compute(pcm: Float32Array, silent: number): Float32Array {
    this.#normalise(pcm)
    const { frames } = this
    const features = new Float32Array(MEL_BANDS * frames)
    // All windows that contain only zeros have the features of the first one.
    const alike = Math.min(frames, Math.floor((silent - WINDOW / 2) / MEL_HOP) + 1)
    const [first, second] = this.#power
    for (let at = 0; at < frames; at += 2) {
      if (at >= 2 && at + 1 < alike) {
        for (let band = 0; band < MEL_BANDS; band++) {
          const from = band * frames
          features[from + at] = features[from + at + 1] = features[from] as number
        }
        continue
      }
      this.#fourier.powers(this.#audio, at * MEL_HOP, (at + 1) * MEL_HOP, this.#hann, first, second)
      this.#bands(first, features, at)
      if (at + 1 < frames) this.#bands(second, features, at + 1)
    }
    let loudest = Number.NEGATIVE_INFINITY
    for (const value of features) if (value > loudest) loudest = value
    for (let i = 0; i < features.length; i++) {
      features[i] = (Math.max(features[i] as number, loudest - RANGE) + 4) / 4
    }
    return features
  }

  /** Fills the buffer, with half a window of reflection on both sides: window n is centred at n hops. */
  #normalise(pcm: Float32Array): void {
    const length = pcm.length
    let sum = 0
    for (let i = 0; i < length; i++) sum += pcm[i] as number
    const mean = sum / length
    let squares = 0
    for (let i = 0; i < length; i++) squares += ((pcm[i] as number) - mean) ** 2
    const scale = 1 / Math.sqrt(squares / length + 1e-7)
    const audio = this.#audio
    const half = WINDOW / 2
    for (let i = 0; i < length; i++) audio[half + i] = ((pcm[i] as number) - mean) * scale
    for (let i = 1; i <= half; i++) {
      audio[half - i] = audio[half + i] as number
      audio[half + length - 1 + i] = audio[half + length - 1 - i] as number
    }
  }

  #bands(power: Float64Array, features: Float32Array, at: number): void {
    for (let band = 0; band < MEL_BANDS; band++) {
      const { from, weights } = this.#filters[band] as MelFilter
      let sum = 0
      for (let i = 0; i < weights.length; i++) sum += (weights[i] as number) * (power[from + i] as number)
      features[band * this.frames + at] = Math.log10(Math.max(sum, FLOOR))
    }
  }
}

interface MelFilter {
  readonly from: number
  readonly weights: Float64Array
}

/** Returns triangles of equal area (Slaney): linear below 1 kHz, logarithmic above. */
function melFilters(): readonly MelFilter[] {
  const step = Math.log(6.4) / 27
  const mel = (hertz: number) => (hertz < 1000 ? (3 * hertz) / 200 : 15 + Math.log(hertz / 1000) / step)
  const hertz = (value: number) => (value < 15 ? (200 * value) / 3 : 1000 * Math.exp(step * (value - 15)))
  const top = mel(RATE / 2)
  const edge = (i: number) => hertz((top * i) / (MEL_BANDS + 1))
  return Array.from({ length: MEL_BANDS }, (_, band) => {
    const [low, mid, high] = [edge(band), edge(band + 1), edge(band + 2)]
    const weight = (bin: number) => {
      const at = (bin * RATE) / WINDOW
      return Math.max(0, Math.min((at - low) / (mid - low), (high - at) / (high - mid))) * (2 / (high - low))
    }
    const from = Math.max(0, Math.floor((low * WINDOW) / RATE))
    const to = Math.min(BINS, Math.ceil((high * WINDOW) / RATE) + 1)
    return { from, weights: Float64Array.from({ length: to - from }, (_, i) => weight(from + i)) }
  })
}

/** A Fourier transform of 400 points in four passes, for two real windows at once. */
class Fourier {
  readonly #length: number
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  #re: Float64Array
  #im: Float64Array
  #nextRe: Float64Array
  #nextIm: Float64Array

  constructor(length: number) {
    this.#length = length
    this.#cos = Float64Array.from({ length }, (_, i) => Math.cos((2 * Math.PI * i) / length))
    this.#sin = Float64Array.from({ length }, (_, i) => -Math.sin((2 * Math.PI * i) / length))
    this.#re = new Float64Array(length)
    this.#im = new Float64Array(length)
    this.#nextRe = new Float64Array(length)
    this.#nextIm = new Float64Array(length)
  }

  /** Computes the squared magnitudes of the windows that begin at `a` and `b`. */
  powers(
    audio: Float64Array,
    a: number,
    b: number,
    window: Float64Array,
    ofA: Float64Array,
    ofB: Float64Array,
  ): void {
    const length = this.#length
    for (let i = 0; i < length; i++) {
      this.#re[i] = (audio[a + i] as number) * (window[i] as number)
      this.#im[i] = (audio[b + i] ?? 0) * (window[i] as number)
    }
    this.#transform()
    const re = this.#re
    const im = this.#im
    for (let k = 0; k < ofA.length; k++) {
      const other = (length - k) % length
      const x = re[k] as number
      const y = im[k] as number
      const u = re[other] as number
      const v = im[other] as number
      ofA[k] = ((x + u) ** 2 + (y - v) ** 2) / 4
      ofB[k] = ((y + v) ** 2 + (u - x) ** 2) / 4
    }
  }

  /** Stockham's order: every pass writes where the next one reads, so that no reordering is needed. */
  #transform(): void {
    const length = this.#length
    const cos = this.#cos
    const sin = this.#sin
    let n = length
    let stride = 1
    for (const radix of RADICES) {
      const m = n / radix
      const re = this.#re
      const im = this.#im
      const toRe = this.#nextRe
      const toIm = this.#nextIm
      for (let p = 0; p < m; p++) {
        for (let k = 0; k < radix; k++) {
          const twist = (p * k * stride) % length
          const twistRe = cos[twist] as number
          const twistIm = sin[twist] as number
          const turn = (k * length) / radix
          for (let q = 0; q < stride; q++) {
            let from = q + stride * p
            let sumRe = re[from] as number
            let sumIm = im[from] as number
            let at = 0
            for (let j = 1; j < radix; j++) {
              from += stride * m
              at += turn
              if (at >= length) at -= length
              const c = cos[at] as number
              const s = sin[at] as number
              const x = re[from] as number
              const y = im[from] as number
              sumRe += x * c - y * s
              sumIm += x * s + y * c
            }
            const to = q + stride * (radix * p + k)
            toRe[to] = sumRe * twistRe - sumIm * twistIm
            toIm[to] = sumRe * twistIm + sumIm * twistRe
          }
        }
      }
      this.#re = toRe
      this.#im = toIm
      this.#nextRe = re
      this.#nextIm = im
      n = m
      stride *= radix
    }
  }
}
