import { createHash } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { S3Setting } from '../config/object-store.js'
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

/** Larger objects are sent in parts of this size. S3 requires 5 MiB or more for all parts but the last. */
const PART_BYTES = 8 * 1024 * 1024
/** S3 allows 10,000 parts. */
export const MAX_OBJECT_BYTES = PART_BYTES * 10_000
const CONNECT_MS = 5_000
/** Longest time without a byte in either direction (ms). */
const IDLE_MS = 30_000
const MAX_SOCKETS = 32
const MAX_ATTEMPTS = 3

interface Part {
  readonly PartNumber: number
  readonly ETag: string
}

/** Keeps objects in a bucket of an S3-compatible service. The bucket belongs to Parley alone. */
export class S3Store implements ObjectStore {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #log: Log

  constructor(setting: S3Setting, log: Log) {
    this.#bucket = setting.bucket
    this.#log = log
    this.#client = new S3Client({
      region: setting.region,
      forcePathStyle: setting.pathStyle,
      ...(setting.endpoint === null ? {} : { endpoint: setting.endpoint }),
      // Null: the usual sources of the SDK, for example the role of the machine.
      ...(setting.credentials === null ? {} : { credentials: setting.credentials }),
      maxAttempts: MAX_ATTEMPTS,
      // Many compatible services do not know the CRC trailers that the SDK sends otherwise. Content-MD5 and the
      // signed SHA-256 protect every request body.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        socketTimeout: IDLE_MS,
        httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
        httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      },
    })
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, limits: PutLimits): Promise<PutResult> {
    const object = this.#object(key)
    const check = new ContentCheck({ ...limits, maxBytes: Math.min(limits.maxBytes, MAX_OBJECT_BYTES) })
    // One buffer for all parts: memory does not grow with the object.
    const part = Buffer.allocUnsafeSlow(Math.min(limits.maxBytes, PART_BYTES))
    let used = 0
    let uploadId: string | null = null
    const parts: Part[] = []
    const sendPart = async (): Promise<void> => {
      uploadId ??= await this.#begin(object)
      const number = parts.length + 1
      const body = part.subarray(0, used)
      const { ETag = '' } = await guarded(() =>
        this.#client.send(
          new UploadPartCommand({
            ...object,
            UploadId: uploadId ?? '',
            PartNumber: number,
            Body: body,
            ContentMD5: md5(body),
          }),
        ),
      )
      parts.push({ PartNumber: number, ETag })
      used = 0
    }
    try {
      for await (const chunk of content) {
        if (!check.add(chunk)) {
          await this.#abort(object, uploadId)
          return { kind: 'too_large' }
        }
        for (let at = 0; at < chunk.length; ) {
          // A full buffer is sent only when more bytes follow, so that the last part is never empty.
          if (used === part.length) await sendPart()
          const slice = chunk.subarray(at, at + part.length - used)
          part.set(slice, used)
          used += slice.length
          at += slice.length
        }
      }
      const digest = check.digest()
      if (digest === null) {
        await this.#abort(object, uploadId)
        return { kind: 'wrong_checksum' }
      }
      if (uploadId === null) {
        const Body = part.subarray(0, used)
        await guarded(() =>
          this.#client.send(new PutObjectCommand({ ...object, Body, ContentMD5: md5(Body) })),
        )
      } else {
        await sendPart()
        const complete = { ...object, UploadId: uploadId, MultipartUpload: { Parts: parts } }
        await guarded(() => this.#client.send(new CompleteMultipartUploadCommand(complete)))
      }
      return { kind: 'stored', ...digest }
    } catch (error) {
      await this.#abort(object, uploadId)
      throw error
    }
  }

  async moveIn(key: string, path: string, { bytes, sha256 }: ObjectDigest): Promise<boolean> {
    const file = await localFile(() => open(path, 'r'))
    try {
      const content = file.createReadStream({ autoClose: false })
      if ((await this.put(key, content, { maxBytes: bytes, sha256 })).kind !== 'stored') return false
    } finally {
      await file.close()
    }
    await localFile(() => unlink(path))
    return true
  }

  async get(key: string, range?: ByteRange): Promise<Readable | null> {
    const request = {
      ...this.#object(key),
      ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }),
    }
    const found = await missingAsNull(() => this.#client.send(new GetObjectCommand(request)))
    if (found === null) return null
    if (!(found.Body instanceof Readable)) throw storeError('the object store sent no body', null, true)
    return found.Body
  }

  async head(key: string): Promise<ObjectInfo | null> {
    const object = this.#object(key)
    const found = await missingAsNull(() => this.#client.send(new HeadObjectCommand(object)))
    return found === null
      ? null
      : { key, bytes: found.ContentLength ?? 0, modifiedAt: found.LastModified?.getTime() ?? 0 }
  }

  async delete(key: string): Promise<void> {
    const object = this.#object(key)
    await missingAsNull(() => this.#client.send(new DeleteObjectCommand(object)))
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    for (let token: string | undefined; ; ) {
      const page = await guarded(() =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: prefix,
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
        ),
      )
      for (const { Key, Size = 0, LastModified } of page.Contents ?? []) {
        if (Key !== undefined) yield { key: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 }
      }
      token = page.NextContinuationToken
      if (token === undefined) return
    }
  }

  async sweepUnfinished(before: number): Promise<void> {
    for (let marker: { KeyMarker?: string; UploadIdMarker?: string } = {}; ; ) {
      const request = { Bucket: this.#bucket, ...marker }
      const page = await guarded(() => this.#client.send(new ListMultipartUploadsCommand(request)))
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Key === undefined || UploadId === undefined || Initiated === undefined) continue
        if (Initiated.getTime() < before) await this.#abort({ Bucket: this.#bucket, Key }, UploadId)
      }
      const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = page
      if (IsTruncated !== true || NextKeyMarker === undefined) return
      marker = {
        KeyMarker: NextKeyMarker,
        ...(NextUploadIdMarker === undefined ? {} : { UploadIdMarker: NextUploadIdMarker }),
      }
    }
  }

  close(): void {
    this.#client.destroy()
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: checkedKey(key) }
  }

  async #begin(object: { Bucket: string; Key: string }): Promise<string> {
    const { UploadId } = await guarded(() => this.#client.send(new CreateMultipartUploadCommand(object)))
    if (UploadId === undefined) throw storeError('the object store began no upload', null, true)
    return UploadId
  }

  /** Removes the parts of an upload. If that fails, `sweepUnfinished` removes them later. */
  async #abort(object: { Bucket: string; Key: string }, uploadId: string | null): Promise<void> {
    if (uploadId === null) return
    try {
      await this.#client.send(new AbortMultipartUploadCommand({ ...object, UploadId: uploadId }))
    } catch (error) {
      this.#log.warn({ key: object.Key, error: errorText(error) }, 'objects.abort_failed')
    }
  }
}

async function localFile<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw storeError(`the local file cannot be used: ${errorText(error)}`, error, false)
  }
}

function md5(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64')
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof S3ServiceException)) {
      throw storeError(`the object store cannot be reached: ${errorText(error)}`, error, true)
    }
    const status = error.$metadata.httpStatusCode ?? 500
    const what = `the object store answered ${status} ${error.name}: ${error.message}`
    // RFC 4918: 507 is a full disk, which an operator can clear.
    throw storeError(status === 507 ? `${what} (it is full)` : what, error, status >= 500 || status === 429)
  }
}

async function missingAsNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await guarded(work)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    // A HEAD response has no body, so its error has no code but the status.
    const missing = cause instanceof S3ServiceException && ['NoSuchKey', 'NotFound'].includes(cause.name)
    if (missing) return null
    throw error
  }
}
