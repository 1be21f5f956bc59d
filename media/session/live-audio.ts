import { FRAME_MS, type SessionRate } from '../base/frame.js'

/*
 * The audio of a call for those who listen to it live, in memory that two threads share: the session writes a frame
 * on each tick and does not wait. A reader that falls behind loses frames.
 */

/** Frames that the memory holds: one second. */
export const LIVE_FRAMES = 50
/** The number of frames written so far; the frames follow it. */
const HEADER_BYTES = Int32Array.BYTES_PER_ELEMENT

/** Channels of a frame: the caller, then what the caller hears. */
const CHANNELS = 2

function frameSamples(rate: SessionRate): number {
  return CHANNELS * (rate / 1000) * FRAME_MS
}

/** Allocates the memory for a session of this rate. */
export function allocateLiveAudio(rate: SessionRate): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + LIVE_FRAMES * frameSamples(rate) * Int16Array.BYTES_PER_ELEMENT)
}

/** Writes frames: `caller` and `heard` at most once each, then `commit`. What is not written is silent. */
export class LiveAudioWriter {
  readonly #written: Int32Array
  readonly #frames: Int16Array
  readonly #length: number
  #offset = 0

  constructor(memory: SharedArrayBuffer, rate: SessionRate) {
    this.#written = new Int32Array(memory, 0, 1)
    this.#frames = new Int16Array(memory, HEADER_BYTES)
    this.#length = frameSamples(rate)
    this.#begin()
  }

  /** Writes what the caller says. */
  caller(pcm: Int16Array): void {
    this.#write(pcm, 0)
  }

  /** Writes what the caller hears. */
  heard(pcm: Int16Array): void {
    this.#write(pcm, 1)
  }

  /** Ends the frame, so that readers may have it. */
  commit(): void {
    Atomics.add(this.#written, 0, 1)
    this.#begin()
  }

  #begin(): void {
    this.#offset = (Atomics.load(this.#written, 0) % LIVE_FRAMES) * this.#length
    this.#frames.fill(0, this.#offset, this.#offset + this.#length)
  }

  #write(pcm: Int16Array, channel: number): void {
    let at = this.#offset + channel
    for (let i = 0; i < pcm.length; i++, at += CHANNELS) this.#frames[at] = pcm[i] as number
  }
}

/** Reads what is written from now on. Several readers do not disturb each other. */
export class LiveAudioReader {
  readonly #written: Int32Array
  readonly #frames: Int16Array
  readonly #length: number
  #next: number
  #lostFrames = 0

  constructor(memory: SharedArrayBuffer, rate: SessionRate) {
    this.#written = new Int32Array(memory, 0, 1)
    this.#frames = new Int16Array(memory, HEADER_BYTES)
    this.#length = frameSamples(rate)
    this.#next = Atomics.load(this.#written, 0)
  }

  /** Audio (ms) that was overwritten before it was read. */
  get lostMs(): number {
    return this.#lostFrames * FRAME_MS
  }

  /** Returns the frames since the last call, interleaved, or null without any. */
  read(): Int16Array | null {
    const written = Atomics.load(this.#written, 0)
    this.#lose(written)
    const count = written - this.#next
    if (count === 0) return null
    const length = this.#length
    const frames = new Int16Array(count * length)
    for (let i = 0; i < count; i++) {
      const from = ((this.#next + i) % LIVE_FRAMES) * length
      frames.set(this.#frames.subarray(from, from + length), i * length)
    }
    // The writer may have gone round meanwhile.
    const first = this.#next
    this.#lose(Atomics.load(this.#written, 0))
    const spoiled = Math.min(count, this.#next - first)
    this.#next = Math.max(written, this.#next)
    return spoiled === count ? null : frames.subarray(spoiled * length)
  }

  /** Gives up the frames that are overwritten: the writer already clears the one after the last. */
  #lose(written: number): void {
    const oldest = written - (LIVE_FRAMES - 1)
    if (oldest <= this.#next) return
    this.#lostFrames += oldest - this.#next
    this.#next = oldest
  }
}
