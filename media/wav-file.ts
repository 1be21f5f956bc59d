import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { endianness } from 'node:os'
import { dirname } from 'node:path'
import { errorText } from './base/errors.js'
import type { SessionRate } from './frame.js'

const HEADER_BYTES = 44
const CHANNELS = 2
const FRAME_BYTES = 2 * CHANNELS
/** Batches waiting for the disk; beyond it the disk counts as failed (each holds about a second). */
const MAX_QUEUED = 20
const HASH_CHUNK = 64 * 1024

export interface RecordedFile {
  readonly path: string
  readonly bytes: number
  readonly durationMs: number
  /** Hex, of the whole file. */
  readonly sha256: string
}

interface Batch {
  readonly samples: Int16Array
  readonly length: number
}

/**
 * A stereo 16-bit PCM WAV file that grows batch by batch, written in the background. After every
 * batch the header is brought up to date, so that a killed process leaves a playable file. The first
 * failure is reported once; from then on batches are dropped.
 */
export class WavFile {
  readonly #path: string
  readonly #rate: SessionRate
  readonly #onFailed: (message: string) => void
  readonly #queue: Batch[] = []
  readonly #spare: Int16Array[] = []
  #writing: Promise<void> | null = null
  #closed: Promise<RecordedFile | null> | null = null
  #file: FileHandle | null = null
  #dataBytes = 0
  #failed = false

  /** The file is created with the first batch; an existing file is never overwritten. */
  constructor(path: string, rate: SessionRate, onFailed: (message: string) => void) {
    this.#path = path
    this.#rate = rate
    this.#onFailed = onFailed
  }

  /** A buffer of `samples` interleaved samples for `append`, reused after it was written. */
  buffer(samples: number): Int16Array {
    const spare = this.#spare.pop()
    return spare !== undefined && spare.length === samples ? spare : new Int16Array(samples)
  }

  /** Queues the first `length` samples of a buffer, which is the file's from now on. */
  append(samples: Int16Array, length: number): void {
    if (this.#failed || this.#closed !== null) return
    if (this.#queue.length >= MAX_QUEUED) {
      this.#fail('the disk is too slow for the recording')
      return
    }
    this.#queue.push({ samples, length })
    this.#writing ??= this.#drain()
  }

  /**
   * Idempotent. Waits for what is queued and returns the finished file; after a failure the part that
   * was written, or null when there is none.
   */
  close(): Promise<RecordedFile | null> {
    this.#closed ??= this.#finish()
    return this.#closed
  }

  async #drain(): Promise<void> {
    try {
      for (let batch = this.#queue.shift(); batch !== undefined; batch = this.#queue.shift()) {
        if (this.#file === null) {
          this.#file = await this.#create()
          // Before any sound: at no moment is the file anything but a WAV file.
          await writeAll(this.#file, this.#header(), 0)
        }
        const bytes = littleEndian(batch.samples, batch.length)
        await writeAll(this.#file, bytes, HEADER_BYTES + this.#dataBytes)
        this.#dataBytes += bytes.length
        await writeAll(this.#file, this.#header(), 0)
        if (this.#spare.length < 2) this.#spare.push(batch.samples)
      }
    } catch (error) {
      this.#fail(errorText(error))
    }
    this.#writing = null
  }

  async #create(): Promise<FileHandle> {
    await mkdir(dirname(this.#path), { recursive: true })
    return await open(this.#path, 'wx+', 0o600)
  }

  #fail(message: string): void {
    this.#queue.length = 0
    if (this.#failed) return
    this.#failed = true
    this.#onFailed(message)
  }

  async #finish(): Promise<RecordedFile | null> {
    while (this.#writing !== null) await this.#writing
    const file = this.#file
    if (file === null) return null
    try {
      if (this.#dataBytes === 0) {
        await unlink(this.#path)
        return null
      }
      // A failed write may have left a piece of a batch beyond what the header says.
      const bytes = HEADER_BYTES + this.#dataBytes
      await writeAll(file, this.#header(), 0)
      await file.truncate(bytes)
      return {
        path: this.#path,
        bytes,
        durationMs: (this.#dataBytes / FRAME_BYTES / this.#rate) * 1000,
        sha256: await hashFile(file, bytes),
      }
    } catch (error) {
      this.#fail(errorText(error))
      return null
    } finally {
      this.#file = null
      await file.close()
    }
  }

  #header(): Uint8Array {
    const header = new Uint8Array(HEADER_BYTES)
    const view = new DataView(header.buffer)
    header.set(Buffer.from('RIFF'), 0)
    view.setUint32(4, HEADER_BYTES - 8 + this.#dataBytes, true)
    header.set(Buffer.from('WAVEfmt '), 8)
    view.setUint32(16, 16, true)
    view.setUint16(20, 1, true) // PCM
    view.setUint16(22, CHANNELS, true)
    view.setUint32(24, this.#rate, true)
    view.setUint32(28, this.#rate * FRAME_BYTES, true)
    view.setUint16(32, FRAME_BYTES, true)
    view.setUint16(34, 16, true)
    header.set(Buffer.from('data'), 36)
    view.setUint32(40, this.#dataBytes, true)
    return header
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

async function hashFile(file: FileHandle, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const chunk = new Uint8Array(HASH_CHUNK)
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, bytes - at), at)
    if (bytesRead === 0) throw new Error('the recording became shorter while it was read')
    hash.update(chunk.subarray(0, bytesRead))
    at += bytesRead
  }
  return hash.digest('hex')
}

function littleEndian(samples: Int16Array, length: number): Uint8Array {
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, length * 2)
  return endianness() === 'LE' ? bytes : bytes.swap16()
}
