import { mkdir, open, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorText } from '../base/errors.js'
import { littleEndian, WAV_HEADER_BYTES, type WavFormat, wavHeader } from './wav-header.js'

/** Most batches waiting for the disk, about a second each. Beyond it the disk counts as failed. */
const MAX_QUEUED = 20

/** The disk operations for a growing file. */
export interface Disk {
  /** Creates a file. Rejects when it exists. */
  create(path: string): Promise<DiskFile>
  remove(path: string): Promise<void>
}

export interface DiskFile {
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>
  truncate(bytes: number): Promise<void>
  close(): Promise<void>
}

/** The file system. Files are created with mode 0600. */
export const systemDisk: Disk = {
  async create(path) {
    await mkdir(dirname(path), { recursive: true })
    return await open(path, 'wx', 0o600)
  },
  remove: (path) => unlink(path),
}

interface Batch {
  readonly samples: Int16Array
  readonly length: number
}

/**
 * A growing WAV file of 16-bit PCM, written batch by batch in the background. Every batch updates the header,
 * so that a killed process leaves a playable file. The first failure is reported once; later batches are
 * dropped and counted.
 */
export class WavFile {
  readonly path: string
  readonly #format: WavFormat
  readonly #disk: Disk
  readonly #onFailed: (message: string) => void
  readonly #queue: Batch[] = []
  readonly #freeBuffers: Int16Array[] = []
  #writing: Promise<void> | null = null
  #closed: Promise<number> | null = null
  #file: DiskFile | null = null
  #dataBytes = 0
  #dropped = 0
  #failed = false

  /** The first batch creates the file. An existing file is never overwritten. */
  constructor(path: string, shape: WavFormat, onFailed: (message: string) => void, disk = systemDisk) {
    this.path = path
    this.#format = shape
    this.#onFailed = onFailed
    this.#disk = disk
  }

  /** Batches that were not written after the disk failed. */
  get dropped(): number {
    return this.#dropped
  }

  /**
   * Returns a buffer of `samples` interleaved samples for `append`. Buffers are reused after they were
   * written.
   */
  buffer(samples: number): Int16Array {
    const buffer = this.#freeBuffers.pop()
    return buffer !== undefined && buffer.length === samples ? buffer : new Int16Array(samples)
  }

  /** Queues the first `length` samples of a buffer, which belongs to the file from now on. */
  append(samples: Int16Array, length: number): void {
    if (this.#closed !== null) return
    if (this.#failed) {
      this.#dropped++
      this.#recycle(samples)
      return
    }
    if (this.#queue.length >= MAX_QUEUED) {
      this.#fail('the disk is too slow for the recording', 1)
      return
    }
    this.#queue.push({ samples, length })
    this.#writing ??= this.#drain()
  }

  /**
   * Waits for queued batches and closes the file, also after a failure. Idempotent. Resolves with the size of
   * the file (bytes), 0 when there is none.
   */
  close(): Promise<number> {
    this.#closed ??= this.#finish()
    return this.#closed
  }

  async #drain(): Promise<void> {
    try {
      for (let batch = this.#queue[0]; batch !== undefined; batch = this.#queue[0]) {
        if (this.#file === null) {
          this.#file = await this.#disk.create(this.path)
          // The header comes first, so that the file is a WAV file at any moment.
          await writeAll(this.#file, wavHeader(this.#format, 0), 0)
        }
        const bytes = littleEndian(batch.samples, batch.length)
        await writeAll(this.#file, bytes, WAV_HEADER_BYTES + this.#dataBytes)
        this.#dataBytes += bytes.length
        await writeAll(this.#file, wavHeader(this.#format, this.#dataBytes), 0)
        this.#queue.shift()
        this.#recycle(batch.samples)
      }
    } catch (error) {
      this.#fail(errorText(error), 0)
    }
    this.#writing = null
  }

  #recycle(samples: Int16Array): void {
    if (this.#freeBuffers.length < 2) this.#freeBuffers.push(samples)
  }

  #fail(message: string, more: number): void {
    this.#dropped += this.#queue.length + more
    this.#queue.length = 0
    if (this.#failed) return
    this.#failed = true
    this.#onFailed(message)
  }

  async #finish(): Promise<number> {
    while (this.#writing !== null) await this.#writing
    const file = this.#file
    if (file === null) return 0
    this.#file = null
    try {
      if (this.#dataBytes === 0) {
        await file.close()
        await this.#disk.remove(this.path)
        return 0
      }
      // A failed write may have left part of a batch beyond the length in the header.
      const bytes = WAV_HEADER_BYTES + this.#dataBytes
      if (this.#failed) {
        await file.truncate(bytes)
        await writeAll(file, wavHeader(this.#format, this.#dataBytes), 0)
      }
      await file.close()
      return bytes
    } catch (error) {
      this.#fail(errorText(error), 0)
      await file.close().catch(() => {}) // the earlier failure is the one to report
      return 0
    }
  }
}

async function writeAll(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
