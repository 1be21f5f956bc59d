import { randomUUID } from 'node:crypto'
import { combinedLanguages, languageTagOf } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { isRecord } from '../shared/json.js'
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
import { audioMessage, formatMessage, jsonMessage, localeOf, parseMessage } from './messages.js'
import type { AzureSettings } from './settings.js'

const DEFAULT_MODEL = 'azure-speech'

/** https://learn.microsoft.com/azure/ai-services/speech-service/improve-accuracy-phrase-list */
const KEY_TERMS = { terms: 500, characters: 100 }

/** Languages of one stream; the vendor identifies one of them at the start of each utterance. */
const MAX_LANGUAGES = 4

type RecognitionSettings = Pick<AzureSettings, 'baseUrl' | 'apiKey'>

/** Opens Azure Speech. */
export const azureSpeechToText = streamingRecogniser(
  'azure',
  DEFAULT_MODEL,
  (settings: RecognitionSettings) => (request) => new AzureDialect(settings, request),
)

/**
 * The WebSocket of the Speech service. Each utterance is a turn with an identifier of its own: our detector ends it with an
 * empty audio message, and the vendor answers with the rest of the text and `turn.end`.
 * https://docs.microsoft.com/en-us/azure/cognitive-services/speech/api-reference-rest/websocketprotocol; the messages
 * `speech.context` and the query are those of Microsoft's SDK for JavaScript.
 */
export class AzureDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 100
  readonly url: string
  // The vendor closes an idle connection after 180 s and any after 10 minutes; the stream connects again.
  readonly keepAlive = null
  readonly #apiKey: string
  readonly #rate: number
  readonly #context: Readonly<Record<string, unknown>>
  #turn = ''
  /** Texts of the turn whose phrases are complete. */
  #phrases: string[] = []
  #language: string | null = null
  #asked = false

  constructor({ baseUrl, apiKey }: RecognitionSettings, stream: RecognitionRequest) {
    this.#apiKey = apiKey
    this.#rate = stream.rate
    const understood = combinedLanguages(stream.language, stream.languages, VOICE_LANGUAGES).slice(
      0,
      MAX_LANGUAGES,
    )
    this.capabilities = recognises(understood, {
      endOfUtterance: false,
      wordTimes: false,
      finalDeadlineMs: 1500,
    })
    const several = this.capabilities.detectsLanguage
    const query = new URLSearchParams({ language: localeOf(stream.language), format: 'simple' })
    if (several) query.set('lidEnabled', 'true')
    this.url = `${baseUrl}/speech/recognition/conversation/cognitiveservices/v1?${query}`
    const terms = termsWithin(stream.vocabulary, KEY_TERMS)
    this.#context = {
      ...(several
        ? {
            languageId: {
              languages: understood.map(localeOf),
              mode: 'DetectAtAudioStart',
              onSuccess: { action: 'Recognize' },
              onUnknown: { action: 'None' },
              priority: 'PrioritizeLatency',
            },
            phraseOutput: { interimResults: { resultType: 'Auto' }, phraseResults: { resultType: 'Always' } },
          }
        : { phraseDetection: { language: localeOf(stream.language) } }),
      ...(terms.length === 0
        ? {}
        : {
            dgi: { groups: [{ type: 'Generic', items: terms.map((text) => ({ text })) }], bias: 1 },
          }),
    }
  }

  /** The key is a header: Microsoft's SDK also puts it into the address, which servers log. */
  get headers(): Readonly<Record<string, string>> {
    return { 'ocp-apim-subscription-key': this.#apiKey, 'x-connectionid': identifier() }
  }

  get busy(): boolean {
    return this.#asked
  }

  openMessage(): string {
    return jsonMessage('speech.config', identifier(), new Date(), {
      context: {
        system: { version: '1.0.0' },
        os: { platform: 'Linux', name: 'Linux', version: '1.0.0' },
        device: { manufacturer: 'Parley', model: 'Parley', version: '1.0.0' },
      },
    })
  }

  utteranceMessages(): readonly (string | Uint8Array)[] {
    this.#turn = identifier()
    this.#phrases = []
    this.#language = null
    const now = new Date()
    return [
      jsonMessage('speech.context', this.#turn, now, this.#context),
      formatMessage(this.#turn, now, this.#rate),
    ]
  }

  encode(pcm: Int16Array): Uint8Array {
    return audioMessage(this.#turn, new Date(), viewBytes(pcm))
  }

  flush(): Uint8Array {
    this.#asked = true
    return audioMessage(this.#turn, new Date(), new Uint8Array(0))
  }

  closeMessage(): null {
    return null
  }

  classify(code: number, reason: string): FailureClass {
    if (/quota|too many|throttl/i.test(reason)) return RATE_LIMITED
    // The codes that Microsoft's SDK does not try again: a fault of the request.
    return code === 1002 || code === 1003 || code === 1007 || code === 4000 ? PERMANENT : TRANSIENT
  }

  reset(): void {
    this.#phrases = []
    this.#language = null
    this.#asked = false
  }

  parse(text: string): Readonly<Record<string, unknown>> | null {
    const message = parseMessage(text)
    return message === null ? null : { ...message.body, path: message.path }
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const { path } = message
    if (path === 'speech.hypothesis') {
      const text = [...this.#phrases, textOf(message.Text)].join(' ').trim()
      this.#detect(message)
      if (text !== '') reader.partial(text, this.#language)
    } else if (path === 'speech.phrase') this.#phrase(message, reader)
    else if (path === 'turn.end') this.#end(reader)
  }

  #phrase(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const status = message.RecognitionStatus
    const failure = typeof status === 'string' ? FAILURES.get(status) : undefined
    if (failure !== undefined) {
      reader.failed(
        reportedFailure(failure, String(status), message.DisplayText, { vendorCode: String(status) }),
      )
      return
    }
    const text = textOf(message.DisplayText)
    if (status !== 'Success' || text === '') return
    this.#detect(message)
    this.#phrases.push(text)
    if (!this.#asked) reader.partial(this.#phrases.join(' '), this.#language)
  }

  #end(reader: RecognitionReader): void {
    if (!this.#asked) {
      reader.failed(
        new EngineError(TRANSIENT.code, 'the vendor ended the turn before the end of the speech', {
          retryable: true,
        }),
      )
      return
    }
    this.#asked = false
    const text = this.#phrases.join(' ')
    this.#phrases = []
    reader.final(text, null, this.#language)
  }

  #detect({ PrimaryLanguage: primary }: Readonly<Record<string, unknown>>): void {
    if (!this.capabilities.detectsLanguage || !isRecord(primary)) return
    this.#language = languageTagOf(primary.Language) ?? this.#language
  }
}

/** Statuses of a phrase that are failures; the others have a text, or there were no words. */
const FAILURES: ReadonlyMap<string, FailureClass> = new Map([
  ['Error', TRANSIENT],
  ['TooManyRequests', RATE_LIMITED],
  ['BadRequest', PERMANENT],
  ['Forbidden', PERMANENT],
])

function textOf(given: unknown): string {
  return typeof given === 'string' ? given.trim() : ''
}

/** Returns a UUID without dashes, as the vendor demands. */
function identifier(): string {
  return randomUUID().replaceAll('-', '')
}
