import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import express from 'express'
import type { Clock } from '../../media/base/clock.js'
import { type Refusal, refuse } from '../api/problem.js'
import { BODY_MS } from './body-time.js'

/** Maximum nesting depth. Deeper bodies are rejected before recursive code reads them. */
export const MAX_DEPTH = 64

/**
 * Maximum length of a string or name (bytes of the JSON text). The longest text that an operation takes has 100,000
 * characters.
 */
const MAX_STRING_BYTES = 400_000

/** Maximum number of bytes of a body, and of values in it: members of objects and elements of arrays. */
export interface BodyLimits {
  readonly bodyBytes: number
  readonly bodyValues: number
}

/** A JSON body. Null if the request has no body. */
export type JsonBody = { readonly json: unknown } | null

type BadBody = Refusal<'bad_request' | 'request_timeout'>

/**
 * Reads the JSON body of a request. Returns a `bad_request` refusal for another content type, for a compressed,
 * oversized, truncated or malformed body, for more values, levels or characters than allowed, and for text that is
 * not valid Unicode; `request_timeout` for a body that takes longer than `BODY_MS`.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  clock: Clock,
): Promise<JsonBody | BadBody> {
  if (!hasBody(request)) return null
  const problem = typeProblem(request)
  if (problem !== null) return problem
  const bytes = await readBytes(request, response, limits.bodyBytes, clock)
  if (!Buffer.isBuffer(bytes)) return bytes
  if (bytes.length === 0) return null
  return await parseJson(bytes, limits.bodyValues)
}

/** Parses a JSON body that was read already. */
export async function jsonBodyOf(
  request: IncomingMessage,
  bytes: Buffer,
  limits: Pick<BodyLimits, 'bodyValues'>,
): Promise<JsonBody | BadBody> {
  if (bytes.length === 0) return null
  return typeProblem(request) ?? (await parseJson(bytes, limits.bodyValues))
}

function typeProblem(request: IncomingMessage): BadBody | null {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json *(;|$)/i.test(type)) {
    return refuse('bad_request', 'Send the body with the header Content-Type: application/json.')
  }
  const charset = /; *charset *= *"?([^";]*)/i.exec(type)?.[1]?.trim()
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    return refuse('bad_request', 'Send the body in UTF-8. JSON has no other character set.')
  }
  return null
}

/** Returns true if the message has content (RFC 9112, 6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length']
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * Reads the raw body, at most `maxBytes` long. Returns an empty buffer if there is none. Refuses like
 * `readJsonBody`.
 */
export function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
  clock: Clock,
): Promise<Buffer | BadBody> {
  const read = express.raw({ type: () => true, limit: maxBytes, inflate: false })
  return new Promise((resolve) => {
    const timer = clock.after(BODY_MS, () =>
      resolve(refuse('request_timeout', 'The body was not received in time.')),
    )
    // Express declares its middleware for its own request type. This middleware only reads the stream and
    // sets `body`.
    read(request as express.Request, response as express.Response, (error?: unknown) => {
      timer.cancel()
      if (error !== undefined) resolve(refuse('bad_request', readProblem(error, maxBytes)))
      else if ('body' in request && Buffer.isBuffer(request.body)) resolve(request.body)
      else resolve(Buffer.alloc(0))
    })
  })
}

function readProblem(error: unknown, maxBytes: number): string {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return `The body is too large. The limit is ${maxBytes} bytes.`
  if (type === 'encoding.unsupported') return 'The body is compressed. Send it without Content-Encoding.'
  return 'The body could not be read.'
}

/** A longer text is measured, parsed and checked in three turns of the event loop. */
const TURN_BYTES = 64 * 1_024

/**
 * Parses strict UTF-8 JSON with at most `maxValues` values. Measures the text before anything is built from it. Does
 * not keep `bytes`.
 */
export async function parseJson(bytes: Uint8Array, maxValues: number): Promise<JsonBody | BadBody> {
  const isLong = bytes.length > TURN_BYTES
  const size = jsonSize(bytes)
  const tooMuch = sizeProblem(size, maxValues)
  if (tooMuch !== null) return refuse('bad_request', tooMuch)
  if (isLong) await endOfTurn()
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return refuse('bad_request', 'The body is not valid JSON in UTF-8.')
  }
  if (isLong) await endOfTurn()
  const problem = structureProblem(json, size.members)
  if (isLong) await endOfTurn()
  return problem === null ? { json } : refuse('bad_request', problem)
}

/**
 * Returns true if text can be stored and hashed exactly: no NUL character (PostgreSQL) and no unpaired
 * surrogate (RFC 8785).
 */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

/** Size of a JSON text. */
interface JsonSize {
  /** Number of members of all objects: each has one colon outside of strings. */
  readonly members: number
  /**
   * Upper bound of the number of members of objects and elements of arrays: all but the first of each follow a comma.
   */
  readonly values: number
  /** Levels of objects and arrays. */
  readonly depth: number
  /** Bytes of the longest string or name. */
  readonly stringBytes: number
}

/** Measures a text in one pass. The result has no meaning for a text that is not JSON. */
function jsonSize(bytes: Uint8Array): JsonSize {
  let [members, separators, level, depth, stringBytes] = [0, 0, 0, 0, 0]
  let begin = -1
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      if (begin >= 0) stringBytes = Math.max(stringBytes, i - begin - 1)
      begin = begin < 0 ? i : -1
    } else if (begin >= 0) {
      if (byte === BACKSLASH) i++
    } else if (byte === COLON) members++
    else if (byte === COMMA) separators++
    else if (byte === BRACE || byte === BRACKET) {
      separators++
      level++
      depth = Math.max(depth, level)
    } else if (byte === END_BRACE || byte === END_BRACKET) level--
  }
  return { members, values: separators, depth, stringBytes }
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [BRACE, END_BRACE, BRACKET, END_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]

function sizeProblem({ values, depth, stringBytes }: JsonSize, maxValues: number): string | null {
  if (depth > MAX_DEPTH) return `The body is nested too deeply. The limit is ${MAX_DEPTH} levels.`
  if (values > maxValues) {
    return `The body has too many values. The limit is ${maxValues} fields and elements; send less at a time.`
  }
  return stringBytes > MAX_STRING_BYTES
    ? `The body contains a text of more than ${MAX_STRING_BYTES} bytes.`
    : null
}

/** `members` is the count in the text. JSON.parse keeps only the last of several members of one name. */
function structureProblem(root: unknown, members: number): string | null {
  let kept = 0
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'string' && !isCleanText(value)) {
      return 'The body contains text with a NUL character or an unpaired surrogate.'
    }
    if (typeof value !== 'object' || value === null) continue
    for (const [key, member] of Object.entries(value)) {
      // JSON.parse creates an own property. Assigned to another object, it would set the prototype.
      if (key === '__proto__' || !isCleanText(key))
        return 'The body contains an invalid field name (__proto__, a NUL character or an unpaired surrogate).'
      open.push(member)
      if (!Array.isArray(value)) kept++
    }
  }
  return kept === members ? null : 'An object in the body contains the same field name twice.'
}
