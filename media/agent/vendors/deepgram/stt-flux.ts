import type { TimedWord } from '../../agent-spec.js'
import { heardTogether, vendorTag } from '../../language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../vendor-ports.js'
import { pcmBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import type { FailureClass } from '../shared/vendor-socket.js'
import { classifyDeepgram, deepgramError, firstLanguage, MULTI_LANGUAGES, readWords } from './messages.js'
import type { DeepgramSettings } from './settings.js'

/** How sure the vendor must be to tell that a turn may be over, 0.3 to 0.9; it ends turns at 0.7. */
const EAGER_THRESHOLD = '0.5'

/**
 * `v2/listen`, the Flux models: the vendor says when a turn begins and ends, and each message carries
 * the whole turn so far.
 */
export class DeepgramFluxDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 80
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive: { readonly afterMs: number; message(): Uint8Array }

  constructor(
    settings: DeepgramSettings,
    stream: {
      readonly rate: number
      readonly language: string
      readonly languages: readonly string[]
      readonly model: string
    },
  ) {
    const several = stream.model.includes('multi')
    const hears = several
      ? heardTogether(stream.language, stream.languages, MULTI_LANGUAGES)
      : [stream.language]
    this.capabilities = {
      partials: true,
      endOfUtterance: true,
      wordTimes: true,
      understandsSpeech: true,
      // It waits for the meaning to be complete; a caller who thinks is given this long.
      finalDeadlineMs: 2500,
      understoodLanguages: hears,
      detectsLanguage: hears.length > 1,
    }
    const query = new URLSearchParams({
      model: stream.model,
      encoding: 'linear16',
      sample_rate: String(stream.rate),
      eager_eot_threshold: EAGER_THRESHOLD,
    })
    if (several) for (const tag of hears) query.append('language_hint', vendorTag('iso', tag))
    this.url = `${settings.baseUrl}/v2/listen?${query}`
    this.headers = { authorization: `Token ${settings.apiKey}` }
    // No message keeps it alive: only sound does.
    const silence = new Uint8Array((stream.rate / 1000) * 80 * 2)
    this.keepAlive = { afterMs: 2000, message: () => silence }
  }

  encode(pcm: Int16Array): Uint8Array {
    return pcmBytes(pcm)
  }

  flush(): null {
    return null
  }

  closeMessage(): string {
    return '{"type":"CloseStream"}'
  }

  classify(code: number, reason: string): FailureClass {
    return classifyDeepgram(code, reason)
  }

  reset(): void {
    // Every message carries its whole turn.
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    if (message.type === 'Error') reader.failed(deepgramError(message))
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
}
