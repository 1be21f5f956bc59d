import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import { type Refusal, refuse } from '../api/problem.js'

/** Deeper bodies are refused before anything recursive walks them. */
export const MAX_DEPTH = 64

/** A body, or that there was none. */
export type JsonBody = { readonly json: unknown } | null

type BadBody = Refusal<'bad_request'>

/**
 * Reads the request's JSON body of at most `maxBytes`. Refuses with `bad_request`: another content
 * type, a compressed, oversized, truncated or broken body, text that is not Unicode.
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<JsonBody | BadBody> {
  if (!hasBody(request)) return null
  const problem = typeProblem(request)
  if (problem !== null) return problem
  const bytes = await readBytes(request, response, maxBytes)
  if (!Buffer.isBuffer(bytes)) return bytes
  if (bytes.length === 0) return null
  return parseJson(bytes)
}

/** The same for a body that was read already. */
export function jsonBodyOf(request: IncomingMessage, bytes: Buffer): JsonBody | BadBody {
  if (bytes.length === 0) return null
  return typeProblem(request) ?? parseJson(bytes)
}

function typeProblem(request: IncomingMessage): BadBody | null {
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    return refuse('bad_request', 'A request with a body needs Content-Type: application/json.')
  }
  return null
}

/** Whether the message announces content (RFC 9112 6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length']
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** The raw body of at most `maxBytes`; empty without one. Refuses like `readJsonBody`. */
export function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<Buffer | BadBody> {
  const read = express.raw({ type: () => true, limit: maxBytes, inflate: false })
  return new Promise((resolve) => {
    // Express types its middleware on its own request; this one only reads the stream and sets body.
    read(request as express.Request, response as express.Response, (error?: unknown) => {
      if (error !== undefined) resolve(refuse('bad_request', readProblem(error, maxBytes)))
      else if ('body' in request && Buffer.isBuffer(request.body)) resolve(request.body)
      else resolve(Buffer.alloc(0))
    })
  })
}

function readProblem(error: unknown, maxBytes: number): string {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return `The body is larger than ${maxBytes} bytes.`
  if (type === 'encoding.unsupported') return 'Compressed bodies are not accepted.'
  return 'The body could not be read.'
}

/** Parses strict UTF-8 JSON; `bytes` is not kept. */
export function parseJson(bytes: Uint8Array): JsonBody | BadBody {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return refuse('bad_request', 'The body is not valid JSON in UTF-8.')
  }
  const problem = structureProblem(json)
  return problem === null ? { json } : refuse('bad_request', problem)
}

/** Whether text can be stored and hashed exactly: no NUL (PostgreSQL), no half surrogate pair (RFC 8785). */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

// Not recursive: the input is a stranger's.
function structureProblem(root: unknown): string | null {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value === 'string' && !isCleanText(value)) {
      return 'The body holds text with a NUL character or half a surrogate pair.'
    }
    if (typeof value !== 'object' || value === null) continue
    if (depth >= MAX_DEPTH) return `The body is nested deeper than ${MAX_DEPTH} levels.`
    for (const [key, member] of Object.entries(value)) {
      // JSON.parse makes it an own member; assigned further on, it would change a prototype.
      if (key === '__proto__' || !isCleanText(key)) return 'The body has a field name that cannot be used.'
      open.push({ value: member, depth: depth + 1 })
    }
  }
  return null
}
