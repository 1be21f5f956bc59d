import type { TimedWord } from '../../agent/agent-spec.js'
import { combinedLanguages, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { isRecord } from '../shared/json.js'
import { pcmBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import { recognises, streamingRecogniser } from '../shared/streaming-recogniser.js'
import type { FailureClass } from '../shared/vendor-socket.js'
import {
  classifyDeepgram,
  type DeepgramStream,
  firstLanguage,
  keyTerms,
  NOVA_TOGETHER,
  readWords,
} from './messages.js'
import type { DeepgramSettings } from './settings.js'
import { DeepgramFluxDialect } from './stt-flux.js'

const DEFAULT_MODEL = 'nova-3'

/**
 * Opens Deepgram's streaming STT: `v1/listen`, where our VAD drives endpointing, or the Flux models on
 * `v2/listen`, which detect the end of turn themselves.
 * https://developers.deepgram.com/reference/speech-to-text/listen-streaming
 */
export const deepgramSpeechToText = streamingRecogniser(
  'deepgram',
  DEFAULT_MODEL,
  (settings: DeepgramSettings) => {
    const manners = { takesConfigure: true }
    return (request) =>
      request.model.startsWith('flux')
        ? new DeepgramFluxDialect(settings, request, manners)
        : new DeepgramListenDialect(settings, request)
  },
)

/** `v1/listen`: interim texts replace each other, final texts are parts of one utterance. */
export class DeepgramListenDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 40
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  // The vendor closes a connection after ten seconds without audio or this message.
  readonly keepAlive = { afterMs: 4000, message: () => '{"type":"KeepAlive"}' }
  #text = ''
  #words: TimedWord[] = []
  /** Language of the longest part that named one. */
  #language: string | null = null
  #languageOf = 0
  /** A `Finalize` was sent and is not answered yet. */
  #asked = false

  constructor(settings: DeepgramSettings, stream: DeepgramStream) {
    const together = stream.model.startsWith('nova-3') ? NOVA_TOGETHER : []
    const understood = combinedLanguages(stream.language, stream.languages, together)
    this.capabilities = recognises(understood, {
      endOfUtterance: true,
      wordTimes: true,
      finalDeadlineMs: 800,
    })
    const query = new URLSearchParams({
      model: stream.model,
      language: understood.length > 1 ? 'multi' : vendorTag('deepgram', stream.language),
      encoding: 'linear16',
      sample_rate: String(stream.rate),
      channels: '1',
      interim_results: 'true',
      endpointing: '300',
      utterance_end_ms: '1000',
      vad_events: 'true',
      smart_format: 'true',
      punctuate: 'true',
    })
    if (understood.length > 1) {
      for (const tag of understood) query.append('language_hint', vendorTag('iso', tag))
    }
    // Older models take no key terms.
    if (stream.model.startsWith('nova-3')) {
      for (const term of keyTerms(stream.vocabulary)) query.append('keyterm', term)
    }
    this.url = `${settings.baseUrl}/v1/listen?${query}`
    this.headers = { authorization: `Token ${settings.apiKey}` }
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): string {
    this.#asked = true
    return '{"type":"Finalize"}'
  }

  closeMessage(): string {
    return '{"type":"CloseStream"}'
  }

  classify(code: number, reason: string): FailureClass {
    return classifyDeepgram(code, reason)
  }

  reset(): void {
    this.#text = ''
    this.#words = []
    this.#language = null
    this.#languageOf = 0
    this.#asked = false
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.type === 'UtteranceEnd') {
      if (this.#text !== '') this.#emit(reader)
      return
    }
    if (message.type !== 'Results') return
    const { transcript, words, language } = firstAlternative(message)
    const detected = this.capabilities.detectsLanguage ? language : null
    if (message.is_final !== true) {
      if (transcript !== '') reader.partial(join(this.#text, transcript), this.#language ?? detected)
      return
    }
    if (detected !== null && transcript.length > this.#languageOf) {
      this.#language = detected
      this.#languageOf = transcript.length
    }
    this.#text = join(this.#text, transcript)
    this.#words.push(...words)
    const answered = message.from_finalize === true && this.#asked
    if (answered) this.#asked = false
    if (answered || (message.speech_final === true && this.#text !== '')) this.#emit(reader)
    else if (transcript !== '') reader.partial(this.#text, this.#language)
  }

  #emit(reader: RecognitionReader): void {
    const text = this.#text
    const words = this.#words
    const language = this.#language
    this.#text = ''
    this.#words = []
    this.#language = null
    this.#languageOf = 0
    reader.final(text, words, language)
  }
}

function firstAlternative(message: Readonly<Record<string, unknown>>): {
  readonly transcript: string
  readonly words: readonly TimedWord[]
  readonly language: string | null
} {
  const channel = isRecord(message.channel) ? message.channel : {}
  const alternatives: unknown = channel.alternatives
  const first: unknown = Array.isArray(alternatives) ? alternatives[0] : null
  if (!isRecord(first)) return { transcript: '', words: [], language: null }
  const transcript = typeof first.transcript === 'string' ? first.transcript.trim() : ''
  return { transcript, words: readWords(first.words), language: firstLanguage(first.languages) }
}

function join(before: string, after: string): string {
  return before === '' || after === '' ? before + after : `${before} ${after}`
}
