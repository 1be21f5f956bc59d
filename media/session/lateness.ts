/** Upper bounds of the lateness histogram's bins (ms). One more bin holds larger values. */
export const LATENESS_BOUNDS_MS = [0.25, 0.5, 1, 2, 3, 5, 10, 15, 20, 40, 100] as const

const WINDOW_SECONDS = 10
// 0.125 ms wide up to 16 ms, then 4 ms wide up to 528 ms.
const FINE_BINS = 128
const FINE_PER_MS = 8
const COARSE_MS = 4
const BINS = 256
/** Lateness lasts when it is found in each of this many seconds. */
const SUSTAINED_SECONDS = 5

/** Frames later than this are kept one by one (ms), and how many of them. */
const LATE_FRAME_MS = 5
const LATE_FRAMES = 512

/** A frame that ran late: when it ran, and by how much (ms). */
export interface LateFrame {
  readonly atMs: number
  readonly lateMs: number
}

/** Figures of lateness. */
export interface LatenessFigures {
  /** Over the last 10 s, in steps of 0.125 ms; 0 when nothing ran. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** The smallest p99 of the last 5 full seconds (ms): lateness that lasts. 0 when nothing ran in one of them. */
  readonly sustainedMs: number
  /** Frames since start by lateness. The bins are `LATENESS_BOUNDS_MS`, the last bin holds larger values. */
  readonly histogram: readonly number[]
  readonly skippedFrames: number
  /** Frames of the last 10 s that ran more than 5 ms late, oldest first, at most 512. */
  readonly lateFrames: readonly LateFrame[]
}

/** Counts without allocation: one histogram since start, and a finer one for each of the last 10 s. */
export class Lateness {
  skippedFrames = 0
  readonly #life = new Float64Array(LATENESS_BOUNDS_MS.length + 1)
  readonly #window = new Uint32Array(BINS * WINDOW_SECONDS)
  readonly #max = new Float64Array(WINDOW_SECONDS)
  readonly #startMs: number
  /** A ring of time and lateness. */
  readonly #lateFrames = new Float64Array(2 * LATE_FRAMES)
  #lateCount = 0
  #second = 0

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  add(lateMs: number, nowMs: number): void {
    this.#advance(nowMs)
    let bin = 0
    while (bin < LATENESS_BOUNDS_MS.length && lateMs > (LATENESS_BOUNDS_MS[bin] as number)) bin++
    this.#life[bin] = (this.#life[bin] as number) + 1
    const slot = this.#second % WINDOW_SECONDS
    const index = slot * BINS + fineBin(lateMs)
    this.#window[index] = (this.#window[index] as number) + 1
    if (lateMs > (this.#max[slot] as number)) this.#max[slot] = lateMs
    if (lateMs <= LATE_FRAME_MS) return
    const at = 2 * (this.#lateCount++ % LATE_FRAMES)
    this.#lateFrames[at] = nowMs
    this.#lateFrames[at + 1] = lateMs
  }

  snapshot(nowMs: number): LatenessFigures {
    this.#advance(nowMs)
    const counts = new Float64Array(BINS)
    let total = 0
    for (let i = 0; i < this.#window.length; i++) {
      const count = this.#window[i] as number
      counts[i % BINS] = (counts[i % BINS] as number) + count
      total += count
    }
    let maxMs = 0
    for (const max of this.#max) if (max > maxMs) maxMs = max
    return {
      p50Ms: Math.min(quantile(counts, total * 0.5), maxMs),
      p99Ms: Math.min(quantile(counts, total * 0.99), maxMs),
      maxMs,
      sustainedMs: this.#sustained(),
      histogram: Array.from(this.#life),
      skippedFrames: this.skippedFrames,
      lateFrames: this.#recentLate(nowMs - WINDOW_SECONDS * 1000),
    }
  }

  #sustained(): number {
    let least = Number.POSITIVE_INFINITY
    for (let i = 1; i <= SUSTAINED_SECONDS; i++) {
      const slot = (this.#second - i + WINDOW_SECONDS) % WINDOW_SECONDS
      const second = this.#window.subarray(slot * BINS, (slot + 1) * BINS)
      let total = 0
      for (const count of second) total += count
      least = Math.min(least, quantile(second, total * 0.99))
    }
    return least
  }

  #recentLate(fromMs: number): LateFrame[] {
    const frames: LateFrame[] = []
    for (let i = Math.max(0, this.#lateCount - LATE_FRAMES); i < this.#lateCount; i++) {
      const at = 2 * (i % LATE_FRAMES)
      const atMs = this.#lateFrames[at] as number
      if (atMs >= fromMs) frames.push({ atMs, lateMs: this.#lateFrames[at + 1] as number })
    }
    return frames
  }

  #advance(nowMs: number): void {
    const second = Math.floor((nowMs - this.#startMs) / 1000)
    if (second <= this.#second) return
    const clear = Math.min(WINDOW_SECONDS, second - this.#second)
    for (let i = 1; i <= clear; i++) {
      const slot = (this.#second + i) % WINDOW_SECONDS
      this.#window.fill(0, slot * BINS, (slot + 1) * BINS)
      this.#max[slot] = 0
    }
    this.#second = second
  }
}

function fineBin(lateMs: number): number {
  if (lateMs <= 0) return 0
  const fine = Math.floor(lateMs * FINE_PER_MS)
  if (fine < FINE_BINS) return fine
  const coarse = FINE_BINS + Math.floor((lateMs - FINE_BINS / FINE_PER_MS) / COARSE_MS)
  return Math.min(coarse, BINS - 1)
}

/** Returns the upper edge of the bin that holds the value of this rank. */
function quantile(counts: Float64Array | Uint32Array, rank: number): number {
  if (rank === 0) return 0
  let seen = 0
  for (let bin = 0; bin < BINS; bin++) {
    seen += counts[bin] as number
    if (seen >= rank) {
      return bin < FINE_BINS
        ? (bin + 1) / FINE_PER_MS
        : FINE_BINS / FINE_PER_MS + (bin + 1 - FINE_BINS) * COARSE_MS
    }
  }
  return 0
}
