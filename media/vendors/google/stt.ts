import { combinedLanguages, languageTagOf } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { termsWithin } from '../shared/key-terms.js'
import { viewBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import {
  type RecognitionRequest,
  recognises,
  streamingRecogniser,
  TEN_LANGUAGES,
} from '../shared/streaming-recogniser.js'
import {
  type FailureClass,
  PERMANENT,
  RATE_LIMITED,
  TRANSIENT,
  type VendorLink,
  type VendorSocketEvents,
  type VendorSocketOptions,
} from '../shared/vendor-socket.js'
import { AccessTokens } from './access-token.js'
import { END_OF_REQUESTS, type GrpcCall, GrpcConnection } from './grpc-connection.js'
import { audioRequest, type RecognitionResult, readResponse, setupRequest } from './messages.js'
import type { GoogleSettings } from './settings.js'

const DEFAULT_MODEL = 'chirp_3'

/** Limits of a phrase set. https://docs.cloud.google.com/speech-to-text/docs/adaptation-model */
const KEY_TERMS = { terms: 500, characters: 100 }

/** Opens Google's Speech-to-Text v2. */
export const googleSpeechToText = streamingRecogniser('google', DEFAULT_MODEL, (settings: GoogleSettings) => {
  const tokens = new AccessTokens(settings.account)
  return (request) => new GoogleDialect(settings, tokens, request)
})

/**
 * `StreamingRecognize` over gRPC. The protocol has no request for a final text but the end of the requests, so each
 * utterance is a call of its own on a connection that stays open. That also keeps a call below the vendor's five minutes.
 * https://docs.cloud.google.com/speech-to-text/docs/models/chirp-3
 */
export class GoogleDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 100
  readonly url: string
  readonly keepAlive = null
  readonly #tokens: AccessTokens
  readonly #setup: Uint8Array
  /** Texts of the utterance that do not change any more. */
  #finals: string[] = []
  #language: string | null = null
  #asked = false

  constructor(settings: GoogleSettings, tokens: AccessTokens, stream: RecognitionRequest) {
    this.#tokens = tokens
    this.url = settings.baseUrl
    const understood = combinedLanguages(stream.language, stream.languages, TEN_LANGUAGES)
    this.capabilities = recognises(understood, {
      endOfUtterance: false,
      wordTimes: false,
      finalDeadlineMs: 1500,
    })
    this.#setup = setupRequest({
      recognizer: `projects/${settings.account.project}/locations/${settings.location}/recognizers/_`,
      model: stream.model,
      rate: stream.rate,
      languages: understood,
      terms: termsWithin(stream.vocabulary, KEY_TERMS),
    })
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.#tokens.at(Math.floor(Date.now() / 1000))}` }
  }

  get busy(): boolean {
    return this.#asked
  }

  connect(options: VendorSocketOptions, events: VendorSocketEvents): VendorLink {
    const call: GrpcCall = {
      path: '/google.cloud.speech.v2.Speech/StreamingRecognize',
      metadata: () => this.headers,
      decode: (bytes) => ({ results: readResponse(bytes) }),
    }
    return new GrpcConnection(options, call, events)
  }

  utteranceMessages(): readonly Uint8Array[] {
    this.#finals = []
    this.#language = null
    return [this.#setup]
  }

  encode(pcm: Int16Array): Uint8Array {
    return audioRequest(viewBytes(pcm))
  }

  flush(): string {
    this.#asked = true
    return END_OF_REQUESTS
  }

  closeMessage(): null {
    return null
  }

  /** Classifies the status of a call. https://grpc.io/docs/guides/status-codes/ */
  classify(status: number, _message: string): FailureClass {
    if (status === 8) return RATE_LIMITED
    return PERMANENT_STATUSES.has(status) ? PERMANENT : TRANSIENT
  }

  reset(): void {
    this.#finals = []
    this.#language = null
    this.#asked = false
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.ended === true) {
      this.#end(reader)
      return
    }
    // The connection decodes every other message to results.
    const results = (message.results ?? []) as readonly RecognitionResult[]
    const open: string[] = []
    for (const { text, isFinal, language } of results) {
      if (this.capabilities.detectsLanguage) this.#language = languageTagOf(language) ?? this.#language
      if (text !== '') (isFinal ? this.#finals : open).push(text)
    }
    const soFar = [...this.#finals, ...open].join(' ')
    if (soFar !== '') reader.partial(soFar, this.#language)
  }

  #end(reader: RecognitionReader): void {
    if (!this.#asked) {
      reader.failed(
        new EngineError(TRANSIENT.code, 'the vendor ended the call before the end of the speech', {
          retryable: true,
        }),
      )
      return
    }
    this.#asked = false
    const text = this.#finals.join(' ')
    this.#finals = []
    reader.final(text, null, this.#language)
  }
}

/** INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED. */
const PERMANENT_STATUSES: ReadonlySet<number> = new Set([3, 5, 7, 9, 12, 16])
