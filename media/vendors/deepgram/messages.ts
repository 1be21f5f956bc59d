import type { TimedWord } from '../../agent/agent-spec.js'
import { languageTagOf } from '../../agent/language/language-tags.js'
import { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'

/* Message parts shared by both of Deepgram's streaming endpoints. */

/** Agent languages that the multilingual model of Flux understands mixed. */
export const FLUX_TOGETHER = ['en-IN', 'hi-IN'] as const

/**
 * Agent languages that Nova-3 understands mixed (`language=multi`).
 * https://developers.deepgram.com/docs/nova-3-language-prompting
 */
export const NOVA_TOGETHER = [...FLUX_TOGETHER, 'bn-IN', 'ta-IN', 'te-IN', 'kn-IN', 'mr-IN', 'gu-IN'] as const

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

/** Options of one stream. */
export interface DeepgramStream {
  readonly rate: number
  readonly language: string
  readonly languages: readonly string[]
  readonly model: string
  readonly vocabulary?: readonly string[]
}

/** Beyond 500 tokens of key terms the vendor stops to transcribe, without an error. */
const MAX_KEY_TERM_TOKENS = 500

/**
 * Returns the terms that fit the vendor's limit, in their order. Two bytes a token are a cautious estimate: a token of
 * English has about four, one of Indian scripts three or more. https://developers.deepgram.com/docs/keyterm
 */
export function keyTerms(vocabulary: readonly string[] = []): readonly string[] {
  let tokens = 0
  return vocabulary.filter((term) => {
    tokens += Math.ceil(Buffer.byteLength(term) / 2)
    return tokens <= MAX_KEY_TERM_TOKENS
  })
}
