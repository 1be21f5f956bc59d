import { type Disk, WavFile } from './wav-file.js'
import type { WavFormat } from './wav-header.js'

/** Audio may arrive this late (ms), because a stalled network delivers late. */
const LOOK_BACK_MS = 1000
/** Length of a write (ms). */
const BATCH_MS = 1000
const RING_MS = LOOK_BACK_MS + 2 * BATCH_MS

export interface TrackOptions {
  readonly path: string
  readonly format: WavFormat
  /** Session sample at which the file begins. */
  readonly start: number
  readonly disk: Disk
  /** Masks a batch before it is written: interleaved samples from session sample `from` on. */
  readonly mask: (from: number, samples: Int16Array, frames: number) => void
  readonly onFailed: (message: string) => void
}

/** The last seconds of one file in memory, where audio can still be placed. Positions are session samples. */
export class Track {
  readonly path: string
  /** Length of the ring (samples): no audio in it is older. */
  readonly depth: number
  readonly #file: WavFile
  readonly #mask: TrackOptions['mask']
  readonly #channels: number
  readonly #batch: number
  readonly #lookBack: number
  /** Interleaved. */
  readonly #ring: Int16Array
  readonly #frames: number
  /** First frame not yet handed to the file. */
  #committed: number

  constructor({ path, format: shape, start, disk, mask, onFailed }: TrackOptions) {
    const perMs = shape.rate / 1000
    this.path = path
    this.#file = new WavFile(path, shape, onFailed, disk)
    this.#mask = mask
    this.#channels = shape.channels
    this.#batch = perMs * BATCH_MS
    this.#lookBack = perMs * LOOK_BACK_MS
    this.#frames = perMs * RING_MS
    this.depth = this.#frames
    this.#ring = new Int16Array(this.#frames * shape.channels)
    this.#committed = start
  }

  get dropped(): number {
    return this.#file.dropped
  }

  write(channel: number, at: number, pcm: Int16Array): void {
    const ring = this.#ring
    const length = ring.length
    const from = Math.max(0, this.#committed - at)
    const to = Math.min(pcm.length, this.#committed + this.#frames - at)
    if (from >= to) return
    let index = ((at + from) % this.#frames) * this.#channels + channel
    for (let i = from; i < to; i++) {
      ring[index] = pcm[i] as number
      index += this.#channels
      if (index >= length) index -= length
    }
  }

  /** Moves session time to `at`. */
  advance(at: number): void {
    while (at - this.#committed >= this.#lookBack + this.#batch) this.#commit(this.#batch)
  }

  /**
   * Ends the file at `at`. Call it once. Resolves with the size of the file (bytes), 0 when there is none.
   */
  close(at: number): Promise<number> {
    while (this.#committed < at) this.#commit(Math.min(this.#batch, at - this.#committed))
    return this.#file.close()
  }

  #commit(frames: number): void {
    const batch = this.#file.buffer(this.#batch * this.#channels)
    const start = (this.#committed % this.#frames) * this.#channels
    const samples = frames * this.#channels
    const first = Math.min(samples, this.#ring.length - start)
    batch.set(this.#ring.subarray(start, start + first), 0)
    this.#ring.fill(0, start, start + first)
    if (first < samples) {
      batch.set(this.#ring.subarray(0, samples - first), first)
      this.#ring.fill(0, 0, samples - first)
    }
    this.#mask(this.#committed, batch, frames)
    this.#committed += frames
    this.#file.append(batch, samples)
  }
}
