import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { AudioMessageWriter, type TextBytes } from '../shared/audio-messages.js'
import { termsWithin } from '../shared/key-terms.js'
import { viewBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import {
  type RecognitionRequest,
  recognises,
  reportedFailure,
  streamingRecogniser,
} from '../shared/streaming-recogniser.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { ElevenLabsSettings } from './settings.js'

const DEFAULT_MODEL = 'scribe_v2_realtime'

/** Limits of the realtime endpoint, which are narrower than those of uploads. */
const HEAD = '{"message_type":"input_audio_chunk","audio_base_64":"'
const KEY_TERMS = { terms: 50, characters: 20 }

/** Opens ElevenLabs' realtime STT. */
export const elevenLabsSpeechToText = streamingRecogniser(
  'elevenlabs',
  DEFAULT_MODEL,
  (settings: ElevenLabsSettings) => (request) => new ScribeDialect(settings, request),
)

/**
 * `v1/speech-to-text/realtime`: partial texts, and a final text for each commit. Our detector commits: the vendor's
 * own one waits for a fixed silence. https://elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime
 */
export class ScribeDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 60
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive: { readonly afterMs: number; message(): TextBytes }
  readonly #rate: number
  readonly #audio: AudioMessageWriter
  /** Text of the current utterance so far. */
  #partial = ''

  constructor(settings: ElevenLabsSettings, stream: RecognitionRequest) {
    this.#rate = stream.rate
    this.#audio = new AudioMessageWriter(HEAD, this.#tail(false))
    const understood = combinedLanguages(stream.language, stream.languages, VOICE_LANGUAGES)
    this.capabilities = recognises(understood, {
      endOfUtterance: false,
      wordTimes: false,
      finalDeadlineMs: 1000,
    })
    const query = new URLSearchParams({
      model_id: stream.model,
      audio_format: `pcm_${stream.rate}`,
      commit_strategy: 'manual',
      ...(understood.length > 1
        ? { include_language_detection: 'true' }
        : { language_code: vendorTag('iso', stream.language) }),
    })
    for (const term of termsWithin(stream.vocabulary, KEY_TERMS)) query.append('keyterms', term)
    this.url = `${settings.baseUrl}/v1/speech-to-text/realtime?${query}`
    this.headers = { 'xi-api-key': settings.apiKey }
    // Only audio keeps the connection open; there is no message for it.
    const silence = new Int16Array((stream.rate / 1000) * 60)
    this.keepAlive = { afterMs: 5000, message: () => this.encode(silence) }
  }

  encode(pcm: Int16Array): TextBytes {
    return this.#audio.write(viewBytes(pcm))
  }

  flush(): string {
    return `${HEAD}${this.#tail(true)}`
  }

  closeMessage(): null {
    return null
  }

  classify(code: number, _reason: string): FailureClass {
    return code === 1008 ? PERMANENT : TRANSIENT
  }

  reset(): void {
    this.#partial = ''
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const type = message.message_type
    const text = typeof message.text === 'string' ? message.text.trim() : ''
    const language = this.capabilities.detectsLanguage ? languageTagOf(message.language_code) : null
    if (type === 'partial_transcript') {
      this.#partial = text
      if (text !== '') reader.partial(text, language)
    } else if (type === 'committed_transcript') this.#commit(text, reader, language)
    // Too little audio to commit: what was heard of it is the text.
    else if (type === 'commit_throttled') this.#commit(this.#partial, reader, null)
    else if (typeof type === 'string') {
      const failure = FAILURES.get(type)
      if (failure !== undefined)
        reader.failed(reportedFailure(failure, type, message.error, { vendorCode: type }))
    }
  }

  #commit(text: string, reader: RecognitionReader, language: string | null): void {
    this.#partial = ''
    reader.final(text, null, language)
  }

  #tail(commit: boolean): string {
    return `","commit":${commit},"sample_rate":${this.#rate}}`
  }
}

/** Error events. The vendor names some of them in two ways. */
const FAILURES: ReadonlyMap<string, FailureClass> = new Map([
  ['error', TRANSIENT],
  ['transcriber_error', TRANSIENT],
  ['queue_overflow', TRANSIENT],
  ['session_time_limit_exceeded', TRANSIENT],
  ['insufficient_audio_activity', TRANSIENT],
  ['rate_limited', RATE_LIMITED],
  ['resource_exhausted', RATE_LIMITED],
  ['auth_error', PERMANENT],
  ['quota_exceeded', PERMANENT],
  ['quota_exceeded_error', PERMANENT],
  ['unaccepted_terms', PERMANENT],
  ['unaccepted_terms_error', PERMANENT],
  ['input_error', PERMANENT],
  ['chunk_size_exceeded', PERMANENT],
])
