/*
 * Reads bodies of several parts (RFC 2046 5.1, RFC 5621). Carriers send ISUP, locations or metadata beside the SDP in
 * them. Accepts small errors: other line ends, a missing end, a boundary without quotes or with wrong ones.
 */

/** One part of a body; header names are lower case. */
export interface BodyPart {
  readonly headers: ReadonlyMap<string, string>
  /** Decoded text. */
  readonly body: string
}

const MAX_PARTS = 64
/** Maximum number of header lines of a part; a folded header has several. */
const MAX_HEADER_LINES = 64
/** Maximum number of parameters of a header. More are ignored. */
const MAX_PARAMETERS = 64
const MAX_BOUNDARY = 256
const CR = 0x0d
const LF = 0x0a
const HEADER_LINE = /^([!-9;-~]{1,64})[ \t]*:(.*)$/s

/**
 * Returns the value of a parameter of a header (`name=value`, quoted or not), case-insensitive by name; null without
 * it. `name` is lower case.
 */
export function headerParameter(value: string, name: string): string | null {
  for (const piece of splitParameters(value).slice(1)) {
    const at = piece.indexOf('=')
    if (at < 0 || piece.slice(0, at).trim().toLowerCase() !== name) continue
    const text = piece.slice(at + 1).trim()
    return text.startsWith('"') ? text.slice(1).replace(/"$/, '').replaceAll(/\\(.)/g, '$1') : text
  }
  return null
}

/** Returns the value of a header before its parameters, in lower case. A repeated header counts once: its values are joined. */
export function headerValue(value: string): string {
  return (splitParameters(value)[0]?.split(',', 1)[0] ?? '').trim().toLowerCase()
}

/** Splits at semicolons outside of quotes. Returns the value and at most 64 parameters. */
function splitParameters(value: string): string[] {
  const pieces: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at < value.length && pieces.length <= MAX_PARAMETERS; at++) {
    const c = value[at]
    if (quoted && c === '\\') at++
    else if (c === '"') quoted = !quoted
    else if (c === ';' && !quoted) {
      pieces.push(value.slice(start, at))
      start = at + 1
    }
  }
  if (pieces.length <= MAX_PARAMETERS) pieces.push(value.slice(start))
  return pieces
}

/**
 * Splits a multipart body. `contentType` is the header of the whole. Returns null when no delimiter is found, when
 * there are more than 64 parts, or when a part has more than 64 header lines. Text before the first delimiter and after
 * the last is ignored.
 */
export function parseMultipart(contentType: string, body: string): readonly BodyPart[] | null {
  const named = headerParameter(contentType, 'boundary')
  for (const boundary of [named, firstDelimiter(body)]) {
    if (boundary === null || boundary === '' || boundary.length > MAX_BOUNDARY) continue
    const parts = splitParts(body, `--${boundary}`)
    if (parts === null || parts.length > 0) return parts && readParts(parts)
  }
  return null
}

function readParts(texts: readonly string[]): readonly BodyPart[] | null {
  const parts: BodyPart[] = []
  for (const text of texts) {
    const part = readPart(text)
    if (part === null) return null
    parts.push(part)
  }
  return parts
}

/** Returns the boundary that the body itself begins with; null without one. */
function firstDelimiter(body: string): string | null {
  const text = body.trimStart()
  if (!text.startsWith('--')) return null
  const end = text.search(/[\r\n]/)
  return (end < 0 ? text : text.slice(0, end)).slice(2).trimEnd()
}

function splitParts(body: string, delimiter: string): string[] | null {
  const parts: string[] = []
  let start = -1
  let from = 0
  while (from < body.length) {
    const at = body.indexOf(delimiter, from)
    if (at < 0) break
    from = at + delimiter.length
    if (at > 0 && !isBreak(body.charCodeAt(at - 1))) continue
    const isLast = body.startsWith('--', from)
    let end = isLast ? from + 2 : from
    while (body[end] === ' ' || body[end] === '\t') end++
    // The text may be the beginning of another boundary.
    if (end < body.length && !isBreak(body.charCodeAt(end))) continue
    if (start >= 0) parts.push(body.slice(start, beforeBreak(body, at)))
    if (parts.length > MAX_PARTS) return null
    if (isLast) return parts
    start = afterBreak(body, end)
    // The line break of a delimiter may be that of the next one.
    from = Math.max(from, start - 1)
  }
  // The last part has no delimiter behind it: the body was cut off, or its end is missing.
  if (start >= 0 && start < body.length) parts.push(body.slice(start))
  return parts.length > MAX_PARTS ? null : parts
}

function isBreak(c: number): boolean {
  return c === CR || c === LF
}

function beforeBreak(text: string, at: number): number {
  if (text.charCodeAt(at - 1) === LF && text.charCodeAt(at - 2) === CR) return at - 2
  return at - 1
}

function afterBreak(text: string, at: number): number {
  if (text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF) return at + 2
  return Math.min(at + 1, text.length)
}

/** Reads headers until a blank line, or until a line that is no header. Returns null for too many header lines. */
function readPart(text: string): BodyPart | null {
  const headers = new Map<string, string>()
  let last = ''
  let at = 0
  for (let lines = 0; at < text.length; lines++) {
    const found = text.slice(at).search(/[\r\n]/)
    const end = found < 0 ? text.length : at + found
    const line = text.slice(at, end)
    if (line.trim() === '') {
      at = afterBreak(text, end)
      break
    }
    if (lines === MAX_HEADER_LINES) return null
    if (/^[ \t]/.test(line) && last !== '') headers.set(last, `${headers.get(last)} ${line.trim()}`)
    else {
      const match = HEADER_LINE.exec(line)
      if (match === null) break
      last = longName(match[1]?.toLowerCase() ?? '')
      headers.set(last, (match[2] ?? '').trim())
    }
    at = afterBreak(text, end)
  }
  return { headers, body: decoded(text.slice(at), headers.get('content-transfer-encoding') ?? '') }
}

function longName(name: string): string {
  return name === 'c' ? 'content-type' : name
}

function decoded(text: string, encoding: string): string {
  switch (encoding.toLowerCase()) {
    case 'base64':
      return Buffer.from(text, 'base64').toString()
    case 'quoted-printable':
      return quotedPrintable(text)
    default:
      return text
  }
}

const EQUALS = 0x3d

/** Decodes quoted-printable octets as UTF-8 (RFC 2045 6.7). An `=` without two hexadecimal digits is text. */
function quotedPrintable(text: string): string {
  const bytes = Buffer.from(text.replaceAll(/=\r?\n/g, ''))
  let to = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const high = hexDigit(bytes[at + 1])
    const low = hexDigit(bytes[at + 2])
    const isCoded = byte === EQUALS && high >= 0 && low >= 0
    bytes[to++] = isCoded ? high * 16 + low : byte
    if (isCoded) at += 2
  }
  return bytes.toString('utf8', 0, to)
}

/** Returns the value of a hexadecimal digit, or -1 for any other character. */
function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = (code | 0x20) - 0x61
  return letter >= 0 && letter < 6 ? letter + 10 : -1
}
