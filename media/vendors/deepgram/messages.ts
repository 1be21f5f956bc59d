import type { TimedWord } from '../../agent/agent-spec.js'
import { languageTagOf } from '../../agent/language/language-tags.js'
import { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'

/* Message parts shared by both of Deepgram's streaming endpoints. */

/** Languages that the `multi` models understand mixed. */
export const MULTI_LANGUAGES = ['en-IN', 'hi-IN'] as const

/** Returns the tag of the dominant language, or null when it is not an agent language. */
export function firstLanguage(languages: unknown): string | null {
  return Array.isArray(languages) ? languageTagOf(languages[0]) : null
}

/**
 * Classifies close codes: 1008 is a fault of the request, 1011 a fault of the vendor or a missing audio
 * stream.
 */
export function classifyDeepgram(code: number, reason: string): FailureClass {
  if (reason.includes('DATA-0000') || code === 1008) return PERMANENT
  if (/rate|429/i.test(reason)) return RATE_LIMITED
  return TRANSIENT
}

/** Reads words with their times, which the vendor counts in seconds of this connection. */
export function readWords(words: unknown): readonly TimedWord[] {
  if (!Array.isArray(words)) return []
  return words.flatMap((word: unknown) => {
    if (!isRecord(word) || typeof word.start !== 'number' || typeof word.end !== 'number') return []
    const text = word.punctuated_word ?? word.word
    return typeof text === 'string' ? [{ text, startMs: word.start * 1000, endMs: word.end * 1000 }] : []
  })
}

/** Returns the error of a vendor's error message. */
export function deepgramError(message: Readonly<Record<string, unknown>>): EngineError {
  const text = typeof message.description === 'string' ? message.description : 'unknown'
  const code = typeof message.code === 'string' ? message.code : ''
  return new EngineError('vendor_failed', `the vendor reports ${code} ${text}`.trim(), {
    retryable: true,
    context: { vendorCode: code },
  })
}
