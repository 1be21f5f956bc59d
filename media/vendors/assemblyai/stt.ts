import type { TimedWord } from '../../agent/agent-spec.js'
import { combinedLanguages, languageTagOf } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { isRecord } from '../shared/json.js'
import { termsWithin } from '../shared/key-terms.js'
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
import type { AssemblyAiSettings } from './settings.js'

const DEFAULT_MODEL = 'universal-streaming-english'

/** The only model that hears other languages of an agent; it detects them and takes no key terms. */
const MANY_LANGUAGES = 'whisper-rt'

/** https://www.assemblyai.com/docs/streaming/keyterms-prompting */
const KEY_TERMS = { terms: 100, characters: 50 }

/** Opens AssemblyAI's streaming STT. */
export const assemblyAiSpeechToText = streamingRecogniser(
  'assemblyai',
  DEFAULT_MODEL,
  (settings: AssemblyAiSettings) => (request) => new AssemblyAiDialect(settings, request),
)

/**
 * `v3/ws`: each message carries the whole turn so far, and the vendor detects its end.
 * https://www.assemblyai.com/docs/streaming/message-sequence
 */
export class AssemblyAiDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 60
  // The vendor closes the connection (3007) after a message of less than 50 ms.
  readonly minChunkMs = 50
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  // Without `inactivity_timeout` the vendor waits for audio.
  readonly keepAlive = null
  /** A possible end of the turn was reported. */
  #eager = false

  constructor(settings: AssemblyAiSettings, stream: RecognitionRequest) {
    const many = stream.model === MANY_LANGUAGES
    const understood = many
      ? combinedLanguages(stream.language, stream.languages, TEN_LANGUAGES)
      : [stream.language]
    this.capabilities = recognises(understood, {
      endOfUtterance: true,
      wordTimes: true,
      finalDeadlineMs: 1200,
    })
    const terms = many ? [] : termsWithin(stream.vocabulary, KEY_TERMS)
    const query = new URLSearchParams({
      speech_model: stream.model,
      encoding: 'pcm_s16le',
      sample_rate: String(stream.rate),
      // Formatting is a second message, which comes later.
      format_turns: 'false',
    })
    if (many) query.set('language_detection', 'true')
    if (terms.length > 0) query.set('keyterms_prompt', JSON.stringify(terms))
    this.url = `${settings.baseUrl}/v3/ws?${query}`
    this.headers = { authorization: settings.apiKey }
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): string {
    return '{"type":"ForceEndpoint"}'
  }

  closeMessage(): string {
    return '{"type":"Terminate"}'
  }

  classify(code: number, reason: string): FailureClass {
    return classify(code, reason)
  }

  reset(): void {
    this.#eager = false
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.type === 'Error') {
      const code = typeof message.error_code === 'number' ? message.error_code : 0
      const failure = classify(code, typeof message.error === 'string' ? message.error : '')
      reader.failed(reportedFailure(failure, code, message.error, { code }))
    }
    if (message.type !== 'Turn') return
    const language = this.capabilities.detectsLanguage ? languageTagOf(message.language_code) : null
    const transcript = typeof message.transcript === 'string' ? message.transcript.trim() : ''
    const { words, text } = readWords(message.words)
    if (message.end_of_turn === true) {
      this.#eager = false
      reader.final(transcript, words, language)
      return
    }
    // The transcript lacks the words that may still change.
    const soFar = text.length > transcript.length ? text : transcript
    if (soFar !== '') reader.partial(soFar, language)
    const complete = typeof message.utterance === 'string' && message.utterance !== ''
    if (complete !== this.#eager) {
      this.#eager = complete
      reader.eager?.(complete)
    }
  }
}

/** Reads words, whose times are milliseconds of this connection. */
function readWords(words: unknown): { readonly words: readonly TimedWord[]; readonly text: string } {
  const given: readonly unknown[] = Array.isArray(words) ? words : []
  const read = given.flatMap((word: unknown) =>
    isRecord(word) &&
    typeof word.text === 'string' &&
    typeof word.start === 'number' &&
    typeof word.end === 'number'
      ? [{ text: word.text, startMs: word.start, endMs: word.end }]
      : [],
  )
  return { words: read, text: read.map((word) => word.text).join(' ') }
}

/**
 * Classifies close codes, which an `Error` message repeats: 1008 is the key, the account or its streams, 3006 and
 * 3007 a fault of the request, 3009 too many streams.
 * https://www.assemblyai.com/docs/streaming/common-session-errors-and-closures
 */
function classify(code: number, reason: string): FailureClass {
  if (code === 3009 || /concurren|too many|rate limit/i.test(reason)) return RATE_LIMITED
  return code === 1008 || code === 3006 || code === 3007 ? PERMANENT : TRANSIENT
}
