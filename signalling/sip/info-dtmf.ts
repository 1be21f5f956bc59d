import type { Digit } from '../../media/base/frame.js'

/** A DTMF digit received by INFO. */
export interface InfoDigit {
  readonly digit: Digit
  readonly durationMs: number
}

/** Duration (ms) of a digit whose message gives none. */
const USUAL_MS = 160
const MAX_MS = 10_000
/** RFC 4733 event numbers 10 to 15, which some peers use here too. */
const BY_NUMBER: Readonly<Record<string, string>> = {
  '10': '*',
  '11': '#',
  '12': 'A',
  '13': 'B',
  '14': 'C',
  '15': 'D',
}

/**
 * Parses the digit of an INFO body: `application/dtmf-relay` (`Signal=5`, `Duration=160`) or
 * `application/dtmf` (just `5`). Returns null for another content type, `bad` when the body holds no digit.
 */
export function parseInfoDtmf(contentType: string, body: string): InfoDigit | 'bad' | null {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/dtmf') return key(body.trim(), USUAL_MS)
  if (type !== 'application/dtmf-relay') return null
  const signal = /^[ \t]*Signal[ \t]*=[ \t]*(\S+)/im.exec(body)?.[1] ?? ''
  const duration = Number(/^[ \t]*Duration[ \t]*=[ \t]*(\d{1,6})[ \t]*$/im.exec(body)?.[1] ?? USUAL_MS)
  return key(signal, duration)
}

function key(text: string, durationMs: number): InfoDigit | 'bad' {
  const digit = (BY_NUMBER[text] ?? text).toUpperCase()
  if (!isDigit(digit)) return 'bad'
  return { digit, durationMs: Math.min(Math.max(durationMs, 1), MAX_MS) }
}

function isDigit(text: string): text is Digit {
  return /^[0-9*#A-D]$/.test(text)
}
