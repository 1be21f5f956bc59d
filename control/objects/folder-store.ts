import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { errorText } from '../../media/base/errors.js'
import { ContentCheck } from './content-check.js'
import {
  type ByteRange,
  checkedKey,
  type ObjectDigest,
  type ObjectInfo,
  type ObjectStore,
  type PutLimits,
  type PutResult,
  storeError,
} from './object-store.js'

/** Below the root, on the same file system. No key starts with a dot. */
const UNFINISHED = '.unfinished'

/**
 * Keeps objects as files below a folder. A file gets its name when all of its bytes are on the disk, so a crash
 * leaves nothing half visible. Several processes may share the folder.
 */
export class FolderStore implements ObjectStore {
  readonly #root: string
  readonly #open: typeof open

  /** A test passes `openFile`, which opens the files that are written or copied, to let that fail. */
  constructor(root: string, openFile: typeof open = open) {
    this.#root = root
    this.#open = openFile
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, limits: PutLimits): Promise<PutResult> {
    const path = this.#path(key)
    const partial = join(this.#root, UNFINISHED, randomBytes(12).toString('hex'))
    const check = new ContentCheck(limits)
    const file = await guarded(async () => {
      await mkdir(dirname(partial), { recursive: true, mode: 0o700 })
      return await this.#open(partial, 'wx', 0o600)
    })
    const discard = () =>
      guarded(async () => {
        await file.close()
        await unlink(partial)
      })
    try {
      for await (const chunk of content) {
        if (!check.add(chunk)) {
          await discard()
          return { kind: 'too_large' }
        }
        await guarded(() => file.appendFile(chunk))
      }
      const digest = check.digest()
      if (digest === null) {
        await discard()
        return { kind: 'wrong_checksum' }
      }
      await guarded(async () => {
        await file.sync()
        await file.close()
        await this.#appear(partial, path)
      })
      return { kind: 'stored', ...digest }
    } catch (error) {
      await discard()
      throw error
    }
  }

  async moveIn(key: string, source: string, digest: ObjectDigest): Promise<boolean> {
    const path = this.#path(key)
    try {
      return await guarded(async () => {
        const file = await open(source, 'r+')
        try {
          // The bytes were hashed when the file was finished. A rename does not change them.
          if ((await file.stat()).size !== digest.bytes) return false
          await file.sync()
        } finally {
          await file.close()
        }
        await this.#appear(source, path)
        return true
      })
    } catch (error) {
      if (codeOf(causeOf(error)) !== 'EXDEV') throw error
    }
    const { bytes: maxBytes, sha256 } = digest
    // A stream that opened the file itself would report a missing file by an event, which no listener may hear yet.
    const file = await guarded(() => this.#open(source, 'r'))
    try {
      const bytes = file.createReadStream({ autoClose: false })
      if ((await this.put(key, bytes, { maxBytes, sha256 })).kind !== 'stored') return false
    } finally {
      await file.close()
    }
    await guarded(() => unlink(source))
    return true
  }

  async get(key: string, range?: ByteRange): Promise<Readable | null> {
    const path = this.#path(key)
    const file = await missingAsNull(() => open(path, 'r'))
    return file === null ? null : file.createReadStream(range ?? {})
  }

  async head(key: string): Promise<ObjectInfo | null> {
    const path = this.#path(key)
    const found = await missingAsNull(() => stat(path))
    return found === null ? null : { key, bytes: found.size, modifiedAt: Math.floor(found.mtimeMs) }
  }

  async delete(key: string): Promise<void> {
    const path = this.#path(key)
    await missingAsNull(() => unlink(path))
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    const below = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    const folder = join(this.#root, below)
    const entries = await missingAsNull(() => readdir(folder, { recursive: true, withFileTypes: true }))
    const keys = (entries ?? [])
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.#root.length + 1))
      .filter((key) => key.startsWith(prefix) && !key.startsWith(UNFINISHED))
      // Keys are ASCII, for which this is the order of UTF-8.
      .sort((a, b) => (a < b ? -1 : 1))
    for (const key of keys) {
      const info = await this.head(key)
      if (info !== null) yield info
    }
  }

  async sweepUnfinished(before: number): Promise<void> {
    const folder = join(this.#root, UNFINISHED)
    for (const name of (await missingAsNull(() => readdir(folder))) ?? []) {
      const path = join(folder, name)
      const found = await missingAsNull(() => stat(path))
      if (found !== null && found.mtimeMs < before) await missingAsNull(() => unlink(path))
    }
  }

  close(): void {}

  #path(key: string): string {
    return join(this.#root, checkedKey(key))
  }

  /** Gives a file its final name and makes the name survive a power failure. */
  async #appear(from: string, path: string): Promise<void> {
    const folder = dirname(path)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await rename(from, path)
    for (const name of new Set([folder, this.#root])) {
      const handle = await open(name, 'r')
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
    }
  }
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (codeOf(error) === 'ENOSPC') throw storeError('the disk of the object store is full', error, true)
    throw storeError(`the object store failed: ${errorText(error)}`, error, true)
  }
}

async function missingAsNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await guarded(work)
  } catch (error) {
    if (codeOf(causeOf(error)) === 'ENOENT') return null
    throw error
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
