import type { Limits } from '../limits.js'
import { canonicalName, type Header, NO_BODY, type SipMessage, type SipRequest } from './sip-message.js'

/**
 * A parsed message, or the reason for its rejection. `request` holds the readable part of a rejected request,
 * to answer it with `status`; null means that the message is dropped.
 */
export type ParseResult =
  | { readonly ok: true; readonly message: SipMessage }
  | {
      readonly ok: false
      readonly status: 400 | 505 | 513
      readonly reason: string
      readonly request: SipRequest | null
    }

const SPACE = 0x20
const TAB = 0x09
const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a

/** 1 for every character of an RFC 3261 token. */
const TOKEN_CHAR = new Uint8Array(256)
for (const c of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.!%*_+`'~") {
  TOKEN_CHAR[c.charCodeAt(0)] = 1
}

interface Head {
  readonly headers: Header[]
  /** Value of the Content-Length headers: null when absent, -1 when malformed or contradictory. */
  contentLength: number | null
  bad: string | null
}

/**
 * Parses one message: a datagram, or a message cut from a stream. Accepts and normalises compact names,
 * folded lines, blanks around the colon and repeated blanks in the start line. Truncates a body longer than
 * Content-Length (RFC 3261 18.3); a shorter body is an error.
 */
export function parseSip(bytes: Buffer, limits: Limits): ParseResult {
  if (bytes.length > limits.messageBytes) return failure(513, 'Message Too Large', null)
  let start = 0
  while (bytes[start] === CR && bytes[start + 1] === LF) start += 2
  const headEnd = bytes.indexOf('\r\n\r\n', start, 'latin1')
  const textEnd = headEnd < 0 ? bytes.length : headEnd + 2
  if (textEnd - start > limits.headBytes) {
    return failure(513, 'Message Too Large', beginning(bytes, start, limits))
  }
  const text = bytes.toString('latin1', start, textEnd)

  const lineEnd = text.indexOf('\r\n')
  if (lineEnd <= 0) return failure(400, 'Bad Request', null)
  const startLine = text.slice(0, lineEnd)
  const head = parseHeaders(text, lineEnd + 2, limits.headerLines)
  const rest = headEnd < 0 ? NO_BODY : bytes.subarray(headEnd + 4)

  if (startLine.startsWith('SIP/')) return response(startLine, head, rest)

  const line = requestLine(startLine)
  if (line === null) return failure(400, 'Bad Request', null)
  const request: SipRequest = {
    kind: 'request',
    method: line.method,
    uri: line.uri,
    headers: head.headers,
    body: NO_BODY,
  }
  if (line.version !== 'SIP/2.0') return failure(505, 'SIP Version Not Supported', request)
  if (line.bad) return failure(400, 'Bad Request', request)
  const wrong = headEnd < 0 ? 'Bad Request' : problemOf(head, rest)
  if (wrong !== null) return failure(400, wrong, request)
  const body = cut(rest, head.contentLength)
  return { ok: true, message: body.length === 0 ? request : { ...request, body } }
}

/** Returns the part of an oversized request that is needed to answer it, or null when it is unreadable. */
function beginning(bytes: Buffer, start: number, limits: Limits): SipRequest | null {
  const text = bytes.toString('latin1', start, start + limits.headBytes)
  const lineEnd = text.indexOf('\r\n')
  const line = lineEnd <= 0 ? null : requestLine(text.slice(0, lineEnd))
  if (line === null || line.bad) return null
  const whole = text.slice(0, text.lastIndexOf('\r\n') + 2)
  const { headers } = parseHeaders(whole, lineEnd + 2, limits.headerLines)
  return { kind: 'request', method: line.method, uri: line.uri, headers, body: NO_BODY }
}

function response(startLine: string, head: Head, rest: Buffer): ParseResult {
  // The reason phrase of `SIP/2.0 200 OK` may be empty or hold anything.
  const status = Number(startLine.slice(8, 11))
  const separated = startLine.charCodeAt(7) === SPACE && (startLine.length === 11 || startLine[11] === ' ')
  if (!startLine.startsWith('SIP/2.0') || !separated || !(status >= 100 && status < 700)) {
    return failure(400, 'Bad Response', null)
  }
  if (problemOf(head, rest) !== null) return failure(400, 'Bad Response', null)
  return {
    ok: true,
    message: {
      kind: 'response',
      status,
      reason: startLine.slice(12).trim(),
      headers: head.headers,
      body: cut(rest, head.contentLength),
    },
  }
}

function failure(status: 400 | 505 | 513, reason: string, request: SipRequest | null): ParseResult {
  return { ok: false, status, reason, request }
}

function problemOf(head: Head, rest: Buffer): string | null {
  if (head.bad !== null) return head.bad
  if (head.contentLength !== null && (head.contentLength < 0 || head.contentLength > rest.length)) {
    return 'Bad Content-Length Header'
  }
  return null
}

function cut(rest: Buffer, length: number | null): Buffer {
  return length === null || length === rest.length ? rest : rest.subarray(0, length)
}

/**
 * Parses `METHOD uri SIP/2.0`. Returns null when the line is not a SIP request at all; sets `bad` for a
 * request that has to be refused (blanks or angle brackets in the URI, an invalid method).
 */
function requestLine(line: string): { method: string; uri: string; version: string; bad: boolean } | null {
  const trimmed = line.charCodeAt(line.length - 1) <= SPACE ? line.trimEnd() : line
  const first = trimmed.indexOf(' ')
  const last = trimmed.lastIndexOf(' ')
  if (first <= 0 || last === first) return null
  const version = trimmed.slice(last + 1).toUpperCase()
  if (!version.startsWith('SIP/')) return null
  const method = trimmed.slice(0, first)
  let uri = trimmed.slice(first + 1, last)
  if (uri.charCodeAt(0) === SPACE || uri.charCodeAt(uri.length - 1) === SPACE) uri = uri.trim()
  return { method, uri, version, bad: !isTokenText(method) || !isUriText(uri) }
}

function isTokenText(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (TOKEN_CHAR[text.charCodeAt(i)] !== 1) return false
  return text.length > 0
}

/** Returns whether the text is printable, without blanks, quotes and angle brackets, and has a scheme. */
function isUriText(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c <= SPACE || c === 0x22 || c === 0x3c || c === 0x3e || c === 0x7f) return false
  }
  return text.indexOf(':') > 0
}

function parseHeaders(text: string, from: number, maxLines: number): Head {
  const head: Head = { headers: [], contentLength: null, bad: null }
  let at = from
  let lines = 0
  while (at < text.length) {
    let end = text.indexOf('\r\n', at)
    if (end < 0) {
      head.bad ??= 'Bad Request'
      return head
    }
    let value: string | null = null
    const colon = text.indexOf(':', at)
    // RFC 3261 7.3.1: a line that begins with a blank continues the previous value.
    let next = text.charCodeAt(end + 2)
    const valueStart = colon + 1
    if (next === SPACE || next === TAB) {
      let folded = colon >= 0 && colon < end ? text.slice(valueStart, end) : ''
      while (next === SPACE || next === TAB) {
        const begin = end + 2
        end = text.indexOf('\r\n', begin)
        if (end < 0) end = text.length
        folded = `${folded.trimEnd()} ${text.slice(begin, end).trimStart()}`
        next = text.charCodeAt(end + 2)
      }
      value = folded.trim()
    }
    lines += 1
    if (lines > maxLines) {
      head.bad ??= 'Too Many Headers'
      return head
    }
    if (colon < 0 || colon >= end) head.bad ??= 'Bad Request'
    else addHeader(head, text, at, colon, value ?? trimmedSlice(text, valueStart, end))
    at = end + 2
  }
  return head
}

function trimmedSlice(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && (text.charCodeAt(start) === SPACE || text.charCodeAt(start) === TAB)) start += 1
  while (end > start && (text.charCodeAt(end - 1) === SPACE || text.charCodeAt(end - 1) === TAB)) end -= 1
  return text.slice(start, end)
}

function addHeader(head: Head, text: string, from: number, colon: number, value: string): void {
  let nameEnd = colon
  while (nameEnd > from && (text.charCodeAt(nameEnd - 1) === SPACE || text.charCodeAt(nameEnd - 1) === TAB)) {
    nameEnd -= 1
  }
  const written = text.slice(from, nameEnd)
  const known = canonicalName(written)
  // A more tolerant parser downstream would read a lone CR or LF as the end of the header.
  if ((known === null && !isTokenText(written)) || value.includes('\r') || value.includes('\n')) {
    head.bad ??= known === null ? 'Bad Request' : `Bad ${known} Header`
    return
  }
  if (known === 'Content-Length') {
    const length = decimal(value)
    if (head.contentLength !== null && head.contentLength !== length) head.contentLength = -1
    else head.contentLength = length
    return
  }
  head.headers.push({ name: known ?? written, value })
}

/** Parses a decimal number of at most seven digits. Returns -1 for anything else. */
function decimal(text: string): number {
  if (text.length === 0 || text.length > 7) return -1
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

/**
 * Returns the Content-Length in the head (start line and headers without the empty line) of a message on a
 * stream, or -1 when it is missing, malformed or contradictory. Used for framing only.
 */
export function announcedLength(head: string): number {
  let found: number | null = null
  let at = head.indexOf('\r\n')
  while (at >= 0) {
    const from = at + 2
    const first = head.charCodeAt(from) | 0x20
    at = head.indexOf('\r\n', from)
    if (first !== 0x6c && first !== 0x63) continue
    const end = at < 0 ? head.length : at
    const colon = head.indexOf(':', from)
    if (colon < 0 || colon > end || head.charCodeAt(colon) !== COLON) continue
    if (canonicalName(head.slice(from, colon).trimEnd()) !== 'Content-Length') continue
    const length = decimal(head.slice(colon + 1, end).trim())
    if (length < 0 || (found !== null && found !== length)) return -1
    found = length
  }
  return found ?? -1
}
