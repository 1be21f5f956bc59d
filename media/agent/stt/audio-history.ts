import { FRAME_MS, type SessionRate } from '../../base/frame.js'

/**
 * The caller's last seconds, for a recogniser that has to hear them again. Fixed size, nothing is
 * allocated per frame; the oldest frames leave.
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

  /** A frame of 20 ms; borrowed. */
  write(pcm: Int16Array, atMs: number): void {
    const slot = this.#written++ % this.#times.length
    this.#times[slot] = atMs
    const from = slot * this.#size
    for (let i = 0; i < this.#size; i++) this.#frames[from + i] = pcm[i] ?? 0
  }

  /** Frames that ended after `fromMs`, in order, each borrowed by `take`. */
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
