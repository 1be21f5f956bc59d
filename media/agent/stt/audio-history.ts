import { FRAME_MS, type SessionRate } from '../../base/frame.js'

/**
 * Keeps the caller's last seconds for a recogniser that must process them again. The size is fixed, the
 * oldest frames are overwritten, and writing allocates nothing.
 */
export class AudioHistory {
  readonly #frames: Int16Array
  readonly #times: Float64Array
  readonly #size: number
  #written = 0

  constructor(rate: SessionRate, keepMs: number) {
    const slots = Math.ceil(keepMs / FRAME_MS)
    this.#size = (rate * FRAME_MS) / 1000
    this.#frames = new Int16Array(slots * this.#size)
    this.#times = new Float64Array(slots)
  }

  /** Copies a 20 ms frame. `pcm` is borrowed. */
  write(pcm: Int16Array, atMs: number): void {
    const slot = this.#written++ % this.#times.length
    this.#times[slot] = atMs
    const from = slot * this.#size
    for (let i = 0; i < this.#size; i++) this.#frames[from + i] = pcm[i] ?? 0
  }

  /** Passes the frames that ended after `fromMs` to `take`, in order. Each is borrowed. */
  replay(fromMs: number, take: (pcm: Int16Array, atMs: number) => void): void {
    const slots = this.#times.length
    for (let n = Math.max(0, this.#written - slots); n < this.#written; n++) {
      const slot = n % slots
      const atMs = this.#times[slot] ?? 0
      if (atMs + FRAME_MS <= fromMs) continue
      take(this.#frames.subarray(slot * this.#size, (slot + 1) * this.#size), atMs)
    }
  }
}
