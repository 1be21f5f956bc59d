import type { TimedWord } from '../../agent/agent-spec.js'
import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import { isRecord } from '../shared/json.js'
import { pcmBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import {
  type RecognitionRequest,
  recognises,
  reportedFailure,
  streamingRecogniser,
  TEN_LANGUAGES,
} from '../shared/streaming-recogniser.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { SonioxSettings } from './settings.js'

const DEFAULT_MODEL = 'stt-rt-v5'

/** The context of a stream is limited to 10,000 characters in all. */
const MAX_CONTEXT_CHARACTERS = 8000

/** Markers among the tokens: the model's end of an utterance, and the answer to `finalize`. */
const END = '<end>'
const FINALIZED = '<fin>'

/** Opens Soniox's real-time STT. */
export const sonioxSpeechToText = streamingRecogniser(
  'soniox',
  DEFAULT_MODEL,
  (settings: SonioxSettings) => (request) => new SonioxDialect(settings, request),
)

interface Token {
  readonly text: string
  readonly isFinal: boolean
  readonly startMs: number | null
  readonly endMs: number | null
  readonly language: string | null
}

/**
 * `transcribe-websocket`: texts arrive as tokens, the final ones once and the others again until they are
 * final. https://soniox.com/docs/api-reference/stt/websocket-api
 */
export class SonioxDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 60
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  // The vendor closes a connection after twenty seconds without audio or this message.
  readonly keepAlive = { afterMs: 8000, message: () => '{"type":"keepalive"}' }
  readonly #configuration: string
  /** Final tokens of the current utterance. */
  #tokens: Token[] = []
  /** Requests for the final text that are not answered yet. */
  #asked = 0

  constructor(settings: SonioxSettings, stream: RecognitionRequest) {
    const understood = combinedLanguages(stream.language, stream.languages, TEN_LANGUAGES)
    this.capabilities = recognises(understood, {
      endOfUtterance: true,
      wordTimes: true,
      finalDeadlineMs: 1000,
    })
    const terms = fitting(stream.vocabulary)
    this.#configuration = JSON.stringify({
      model: stream.model,
      audio_format: 'pcm_s16le',
      sample_rate: stream.rate,
      num_channels: 1,
      language_hints: understood.map((tag) => vendorTag('iso', tag)),
      enable_language_identification: understood.length > 1,
      enable_endpoint_detection: true,
      ...(terms.length === 0 ? {} : { context: { terms } }),
    })
    this.url = `${settings.baseUrl}/transcribe-websocket`
    // From 15 January 2027 on the vendor refuses keys in the first message.
    this.headers = { authorization: `Bearer ${settings.apiKey}` }
  }

  openMessage(): string {
    return this.#configuration
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): string {
    this.#asked++
    return '{"type":"finalize"}'
  }

  closeMessage(): null {
    return null
  }

  classify(code: number, _reason: string): FailureClass {
    return code === 1008 ? PERMANENT : TRANSIENT
  }

  reset(): void {
    this.#tokens = []
    this.#asked = 0
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (typeof message.error_code === 'number') {
      reader.failed(errorOf(message.error_code, message.error_message))
      return
    }
    const tokens: readonly unknown[] = Array.isArray(message.tokens) ? message.tokens : []
    const open: Token[] = []
    for (const given of tokens) {
      const token = readToken(given)
      if (token === null) continue
      if (token.text === FINALIZED) {
        // An unasked one would end an utterance that goes on.
        if (this.#asked > 0) {
          this.#asked--
          this.#emit(reader)
        }
      } else if (token.text === END) {
        if (this.#tokens.length > 0) this.#emit(reader)
      } else if (token.isFinal) this.#tokens.push(token)
      else open.push(token)
    }
    const all = [...this.#tokens, ...open]
    const text = textOf(all)
    if (text !== '') reader.partial(text, this.#languageOf(all))
  }

  #emit(reader: RecognitionReader): void {
    const tokens = this.#tokens
    this.#tokens = []
    reader.final(textOf(tokens), wordsOf(tokens), this.#languageOf(tokens))
  }

  /** Returns the language of most characters, or null. */
  #languageOf(tokens: readonly Token[]): string | null {
    if (!this.capabilities.detectsLanguage) return null
    const characters = new Map<string, number>()
    for (const { text, language } of tokens) {
      if (language !== null) characters.set(language, (characters.get(language) ?? 0) + text.trim().length)
    }
    const [most] = [...characters].sort(([, a], [, b]) => b - a)
    return most?.[0] ?? null
  }
}

function readToken(token: unknown): Token | null {
  if (!isRecord(token) || typeof token.text !== 'string') return null
  const { text, start_ms: start, end_ms: end } = token
  return {
    text,
    isFinal: token.is_final === true,
    startMs: typeof start === 'number' ? start : null,
    endMs: typeof end === 'number' ? end : null,
    language: languageTagOf(token.language),
  }
}

/** Joins tokens; spaces are part of them. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim()
}

/** Joins tokens to words: a word begins with the token that begins with a space. */
function wordsOf(tokens: readonly Token[]): readonly TimedWord[] {
  const words: { text: string; startMs: number; endMs: number }[] = []
  let begins = true
  for (const { text, startMs, endMs } of tokens) {
    const letters = text.trim()
    if (startMs !== null && endMs !== null && letters !== '') {
      const last = words.at(-1)
      if (last === undefined || begins || /^\s/.test(text)) words.push({ text: letters, startMs, endMs })
      else {
        last.text += letters
        last.endMs = endMs
      }
    }
    begins = /\s$/.test(text)
  }
  return words
}

function fitting(vocabulary: readonly string[]): readonly string[] {
  let characters = 0
  return vocabulary.filter((term) => {
    characters += term.length
    return characters <= MAX_CONTEXT_CHARACTERS
  })
}

/** https://soniox.com/docs/stt/rt/error-handling */
function errorOf(status: number, message: unknown): EngineError {
  const failure = status === 429 ? RATE_LIMITED : status === 408 || status >= 500 ? TRANSIENT : PERMANENT
  return reportedFailure(failure, status, message, { status })
}
