import type { TimedWord } from '../../agent/agent-spec.js'
import { combinedLanguages, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { pcmBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import { recognises } from '../shared/streaming-recogniser.js'
import type { FailureClass } from '../shared/vendor-socket.js'
import {
  classifyDeepgram,
  type DeepgramStream,
  deepgramError,
  FLUX_TOGETHER,
  firstLanguage,
  keyTerms,
  readWords,
} from './messages.js'
import type { DeepgramSettings } from './settings.js'

/** Confidence at which the vendor reports a possible end of turn (0.3 to 0.9); it ends turns at 0.7. */
const EAGER_THRESHOLD = '0.5'

/**
 * End of a turn in the caller's own words (the vendor's defaults), and while the agent awaits a number: people say digits
 * with pauses, so the vendor is to be surer. Its timeout then precedes our own deadline for a final text.
 */
const USUAL = { eot_threshold: 0.7, eot_timeout_ms: 5000 } as const
const NUMBER = { eot_threshold: 0.8, eot_timeout_ms: 2000 } as const

/** Properties of a server that its refusals show. */
export interface FluxManners {
  /** False for a server that does not know `Configure`: some end the session because of it. */
  takesConfigure: boolean
}

/**
 * `v2/listen` for the Flux models: the vendor detects the start and end of turns, and each message carries
 * the whole turn so far. https://developers.deepgram.com/reference/speech-to-text/listen-flux
 */
export class DeepgramFluxDialect implements RecognitionDialect {
  readonly #manners: FluxManners
  /** The expected thresholds, those that the vendor was told, and whether it has not confirmed them yet. */
  #wanted: typeof USUAL | typeof NUMBER = USUAL
  #told: typeof USUAL | typeof NUMBER = USUAL
  #pending = false
  /** A connection was lost before the vendor confirmed a change. */
  #doubtful = false
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 80
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive: { readonly afterMs: number; message(): Uint8Array }

  constructor(
    settings: DeepgramSettings,
    stream: DeepgramStream,
    manners: FluxManners = { takesConfigure: true },
  ) {
    this.#manners = manners
    const several = stream.model.includes('multi')
    const understood = several
      ? combinedLanguages(stream.language, stream.languages, FLUX_TOGETHER)
      : [stream.language]
    this.capabilities = recognises(understood, {
      endOfUtterance: true,
      wordTimes: true,
      // The vendor waits until the sentence is complete, which takes this long when the caller pauses to
      // think.
      finalDeadlineMs: 2500,
    })
    const query = new URLSearchParams({
      model: stream.model,
      encoding: 'linear16',
      sample_rate: String(stream.rate),
      eager_eot_threshold: EAGER_THRESHOLD,
    })
    if (several) for (const tag of understood) query.append('language_hint', vendorTag('iso', tag))
    for (const term of keyTerms(stream.vocabulary)) query.append('keyterm', term)
    this.url = `${settings.baseUrl}/v2/listen?${query}`
    this.headers = { authorization: `Token ${settings.apiKey}` }
    // Only audio keeps the connection alive; there is no message for it.
    const silence = new Uint8Array((stream.rate / 1000) * 80 * 2)
    this.keepAlive = { afterMs: 2000, message: () => silence }
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): null {
    return null
  }

  expectNumber(expected: boolean): void {
    this.#wanted = expected ? NUMBER : USUAL
  }

  /** The vendor allows few unconfirmed changes. https://developers.deepgram.com/docs/flux/configure */
  changeMessage(): string | null {
    if (this.#wanted === this.#told || this.#pending || this.#doubtful || !this.#manners.takesConfigure)
      return null
    this.#told = this.#wanted
    this.#pending = true
    return JSON.stringify({ type: 'Configure', thresholds: this.#told })
  }

  closeMessage(): string {
    return '{"type":"CloseStream"}'
  }

  classify(code: number, reason: string): FailureClass {
    return classifyDeepgram(code, reason)
  }

  reset(): void {
    // Every message carries its whole turn, and a new connection has the thresholds of its address.
    this.#doubtful ||= this.#pending
    this.#pending = false
    this.#told = USUAL
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.type === 'ConfigureSuccess') this.#pending = false
    if (message.type === 'ConfigureFailure') this.#refused(reader)
    if (message.type === 'Error') {
      if (this.#pending) this.#refused(reader)
      reader.failed(deepgramError(message))
    }
    if (message.type !== 'TurnInfo') return
    const text = typeof message.transcript === 'string' ? message.transcript.trim() : ''
    const language = this.capabilities.detectsLanguage ? firstLanguage(message.languages) : null
    if (message.event === 'EndOfTurn') {
      const words: readonly TimedWord[] = readWords(message.words)
      reader.final(text, words.length > 0 ? words : null, language)
    } else if (text !== '') {
      reader.partial(text, language)
      if (message.event === 'EagerEndOfTurn') reader.eager?.(true)
      if (message.event === 'TurnResumed') reader.eager?.(false)
    }
  }

  #refused(reader: RecognitionReader): void {
    this.#pending = false
    this.#manners.takesConfigure = false
    reader.refused?.()
  }
}
