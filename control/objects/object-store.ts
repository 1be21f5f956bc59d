import type { Readable } from 'node:stream'
import { EngineError } from '../../media/base/errors.js'

/** An object of the store. */
export interface ObjectInfo {
  readonly key: string
  readonly bytes: number
  /** Unix ms. */
  readonly modifiedAt: number
}

/** Size and SHA-256 (hex) of the bytes of an object. */
export interface ObjectDigest {
  readonly bytes: number
  readonly sha256: string
}

/** Result of `put`. The store has no object when the bytes were refused. */
export type PutResult =
  | ({ readonly kind: 'stored' } & ObjectDigest)
  | { readonly kind: 'too_large' }
  | { readonly kind: 'wrong_checksum' }

export interface PutLimits {
  readonly maxBytes: number
  /** Refuses other bytes than those with this SHA-256 (hex). */
  readonly sha256?: string
}

/** Inclusive range of bytes. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Files that every process of the service can read. A key is written as a whole or not at all; of concurrent
 * writers of a key, the last one wins. Keys come from the service, never from a client. Every method rejects
 * with EngineError `storage_failed` when the disk or the service behind it fails; `retryable` says whether the
 * same request may succeed later.
 */
export interface ObjectStore {
  /**
   * Stores the bytes of a stream, in constant memory. Rejects with the error of the stream when it breaks. A
   * refused, broken or failed write leaves the previous object, or none.
   */
  put(key: string, content: AsyncIterable<Uint8Array>, limits: PutLimits): Promise<PutResult>
  /**
   * Moves a finished local file into the store. The file is gone only after the store has confirmed the bytes.
   * Returns false, and keeps the file, when its bytes are not those of `digest`.
   */
  moveIn(key: string, path: string, digest: ObjectDigest): Promise<boolean>
  /** Opens an object, or a range of it. Returns null when there is none. The range must lie within it. */
  get(key: string, range?: ByteRange): Promise<Readable | null>
  head(key: string): Promise<ObjectInfo | null>
  /** Removes an object. Does nothing when there is none. */
  delete(key: string): Promise<void>
  /** Lists the objects whose keys begin with `prefix`, in the order of their keys (UTF-8). */
  list(prefix: string): AsyncIterable<ObjectInfo>
  /** Removes what writes left behind that began before `before` (Unix ms) and were cut off by a crash. */
  sweepUnfinished(before: number): Promise<void>
  close(): void
}

/** Two or more segments. None starts with a dot, so that no key leaves its folder. */
const KEY = /^[a-z0-9-]+(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)+$/
const KEY_LENGTH = 250

/** Returns the key. Throws EngineError `internal` for a key that the service must not use. */
export function checkedKey(key: string): string {
  if (key.length > KEY_LENGTH || !KEY.test(key)) throw new EngineError('internal', 'invalid object key')
  return key
}

/** Wraps an error of a disk or a service as EngineError `storage_failed`. */
export function storeError(what: string, error: unknown, retryable: boolean): EngineError {
  return new EngineError('storage_failed', what, { retryable, cause: error })
}
