import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Clock } from '../../media/base/clock.js'
import { type ReceivedUploadRule, RefusedBody, type Upload } from '../api/content.js'
import { type Refusal, refuse } from '../api/problem.js'
import { BODY_MS } from './body-time.js'
import { hasBody } from './json-body.js'

/** SHA-256 of a body while it arrives. */
export interface BodyDigest {
  /** From now on the body ends with `refusal` unless its digest (hex) is `digest`. */
  expect(digest: string, refusal: Refusal): void
  /** Returns the digest (hex), or null as long as the body has not arrived as a whole. */
  value(): string | null
  /** Reads what the handler left. Rejects with `RefusedBody` when `content` fails. */
  readRest(): Promise<void>
}

/** The body of a request that the handler reads while it arrives. */
export interface OpenUpload extends Upload {
  /** Digest of the body for an idempotency key. Null for a signed request, which has none. */
  readonly digest: BodyDigest | null
  /** Drops what the handler did not read, so that the connection can be used again. */
  close(): void
}

/**
 * Opens the body of a request. `signed` is the body of a signed request, which was read to verify it. Returns a
 * refusal for another media type, for a compressed body, for a missing one, and for one that states more than
 * `maxBytes`. A client that sends nothing for `BODY_MS` ends the upload; the time that the handler takes does not count.
 */
export function openUpload(
  request: IncomingMessage,
  rule: ReceivedUploadRule,
  signed: Buffer | null,
  clock: Clock,
): OpenUpload | Refusal {
  const contentType = mediaTypeOf(request)
  const problem = typeProblem(request, contentType, rule)
  if (problem !== null) return problem
  if (!hasBody(request)) return refuse('bad_request', 'The body is missing.')
  const stated = request.headers['content-length']
  const bytes = stated === undefined ? null : Number(stated)
  if (bytes !== null && bytes > rule.maxBytes) return tooLarge(bytes, rule)
  if (signed !== null) return { contentType, bytes, content: Readable.from(signed), digest: null, close() {} }
  return { contentType, bytes, ...limited(request, rule, clock) }
}

function limited(
  request: IncomingMessage,
  rule: ReceivedUploadRule,
  clock: Clock,
): Pick<OpenUpload, 'content' | 'digest' | 'close'> {
  const hash = createHash('sha256')
  let digest: string | null = null
  let expected: { readonly digest: string; readonly refusal: Refusal } | null = null
  let read = 0
  let readAt = clock.now()
  const content = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      read += chunk.length
      readAt = clock.now()
      hash.update(chunk)
      if (read > rule.maxBytes) done(new RefusedBody(tooLarge(read, rule)))
      else done(null, chunk)
    },
    flush(done) {
      digest = hash.digest('hex')
      if (expected === null || expected.digest === digest) done()
      else done(new RefusedBody(expected.refusal))
    },
  })
  const endedEarly = () => {
    if (!request.complete) content.destroy(new RefusedBody(refuse('bad_request', 'The body is incomplete.')))
  }
  request.once('error', endedEarly).once('close', endedEarly)
  let timer = clock.after(BODY_MS, look)
  function look(): void {
    // Paused: the handler is the slow side.
    const restMs = request.isPaused() ? BODY_MS : readAt + BODY_MS - clock.now()
    if (restMs > 0) timer = clock.after(restMs, look)
    else content.destroy(new RefusedBody(refuse('request_timeout', 'The body was not received in time.')))
  }
  content.once('close', () => timer.cancel())
  // A handler that returned early no longer listens.
  content.on('error', () => {})
  request.pipe(content)
  return {
    content,
    digest: {
      expect(wanted, refusal) {
        expected = { digest: wanted, refusal }
        // A short body has arrived before anybody reads it.
        if (digest !== null && digest !== wanted) content.destroy(new RefusedBody(refusal))
      },
      value: () => digest,
      async readRest() {
        if (content.errored !== null) throw content.errored
        if (!content.readableEnded && !content.destroyed) await finished(content.resume())
      },
    },
    close() {
      request.unpipe(content).resume()
      content.destroy()
    },
  }
}

function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

function typeProblem(
  request: IncomingMessage,
  contentType: string,
  { accepts }: ReceivedUploadRule,
): Refusal<'bad_request'> | null {
  const details = { accepted: accepts }
  if (contentType.startsWith('multipart/')) {
    const message =
      'Forms are not supported. Send the bytes of the file as the body, with its own Content-Type.'
    return refuse('bad_request', message, details)
  }
  if (!accepts.includes(contentType)) {
    const message = `Send the body with one of these content types: ${accepts.join(', ')}.`
    return refuse('bad_request', message, details)
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuse('bad_request', 'The body is compressed. Send it without Content-Encoding.', details)
  }
  return null
}

function tooLarge(
  bytes: number,
  { maxBytes, tooLarge: code }: ReceivedUploadRule,
): Refusal<ReceivedUploadRule['tooLarge']> {
  return refuse(code, `The body is too large. The limit is ${maxBytes} bytes.`, {
    bytes,
    maxBytes,
  })
}
