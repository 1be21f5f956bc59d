import type { SessionRate } from './frame.js'
import { type RecordedFile, WavFile } from './wav-file.js'

/** Sound may still be placed this long after its time: a stalled network delivers late. */
const LOOK_BACK_MS = 1000
/** Written to the file at once. */
const BATCH_MS = 1000
const RING_MS = LOOK_BACK_MS + 2 * BATCH_MS

/**
 * Two channels on one time line of samples since session start: left is placed where it was on the
 * wire, right on its beat. Between the two calls per beat nothing is allocated; the file is written
 * in the background.
 */
export class Recorder {
  readonly #file: WavFile
  readonly #batch: number
  readonly #lookBack: number
  /** Interleaved left, right. */
  readonly #ring: Int16Array
  readonly #frames: number
  /** First frame not yet handed to the file. */
  #committed = 0

  constructor(path: string, rate: SessionRate, onFailed: (message: string) => void) {
    this.#file = new WavFile(path, rate, onFailed)
    this.#batch = (rate / 1000) * BATCH_MS
    this.#lookBack = (rate / 1000) * LOOK_BACK_MS
    this.#frames = (rate / 1000) * RING_MS
    this.#ring = new Int16Array(this.#frames * 2)
  }

  /** Replaces what the left channel has from sample `at` on. Too old or too far ahead is dropped. */
  left(at: number, pcm: Int16Array): void {
    this.#place(0, at, pcm)
  }

  /** Replaces what the right channel has from sample `at` on. */
  right(at: number, pcm: Int16Array): void {
    this.#place(1, at, pcm)
  }

  /** Session time is now `at` samples: hands what is older than the look-back to the file. */
  advance(at: number): void {
    while (at - this.#committed >= this.#lookBack + this.#batch) this.#commit(this.#batch)
  }

  /** Idempotent; the recording ends at sample `at`. */
  close(at: number): Promise<RecordedFile | null> {
    while (this.#committed < at) this.#commit(Math.min(this.#batch, at - this.#committed))
    return this.#file.close()
  }

  #place(channel: number, at: number, pcm: Int16Array): void {
    const ring = this.#ring
    const length = ring.length
    const from = Math.max(0, this.#committed - at)
    const to = Math.min(pcm.length, this.#committed + this.#frames - at)
    if (from >= to) return
    let index = ((at + from) % this.#frames) * 2 + channel
    for (let i = from; i < to; i++) {
      ring[index] = pcm[i] as number
      index += 2
      if (index >= length) index -= length
    }
  }

  #commit(frames: number): void {
    const batch = this.#file.buffer(this.#batch * 2)
    const start = (this.#committed % this.#frames) * 2
    const samples = frames * 2
    const first = Math.min(samples, this.#ring.length - start)
    batch.set(this.#ring.subarray(start, start + first), 0)
    this.#ring.fill(0, start, start + first)
    if (first < samples) {
      batch.set(this.#ring.subarray(0, samples - first), first)
      this.#ring.fill(0, 0, samples - first)
    }
    this.#committed += frames
    this.#file.append(batch, samples)
  }
}
