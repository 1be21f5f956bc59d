import type { RecognitionMode } from '../../agent/agent-spec.js'
import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { AudioMessageWriter, type TextBytes } from '../shared/audio-messages.js'
import { termsWithin } from '../shared/key-terms.js'
import { viewBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import { type FailureClass, PERMANENT, TRANSIENT } from '../shared/vendor-socket.js'
import type { SarvamSettings } from './settings.js'

/** https://docs.sarvam.ai/api/api-guides-tutorials/speech-to-text/how-to/keyterms */
const KEY_TERMS = { terms: 50, characters: 64 } as const
/** Other models refuse key terms. */
const KEY_TERM_MODEL = 'saaras:v4'

/**
 * `/speech-to-text-realtime/ws`: partial texts and endpointing by the vendor.
 * https://docs.sarvam.ai/api-reference/speech-to-text/transcribe/realtime/ws
 */
export class SarvamRealtimeDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 60
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive = { afterMs: 15_000, message: () => '{"event":"ping"}' }
  readonly #audio = new AudioMessageWriter('{"event":"audio_input","audio":"', '"}')

  constructor(
    settings: SarvamSettings,
    stream: {
      readonly rate: number
      readonly language: string
      readonly languages: readonly string[]
      readonly model: string
      readonly mode: RecognitionMode
      readonly vocabulary: readonly string[]
    },
  ) {
    const understood = combinedLanguages(stream.language, stream.languages, VOICE_LANGUAGES)
    const several = understood.length > 1
    this.capabilities = {
      partials: true,
      endOfUtterance: true,
      wordTimes: false,
      understandsSpeech: true,
      finalDeadlineMs: 1200,
      understoodLanguages: understood,
      detectsLanguage: several,
    }
    const query = new URLSearchParams({
      language_code: several ? 'auto' : vendorTag('sarvamRealtime', stream.language),
      model: stream.model,
      stream_type: 'fast',
      mode: stream.mode,
      endpointing: 'vad',
      encoding: 'linear16',
      sample_rate: String(stream.rate),
      return_timestamps: 'false',
      silence_duration_ms: '300',
    })
    const terms = stream.model === KEY_TERM_MODEL ? termsWithin(stream.vocabulary, KEY_TERMS) : []
    if (terms.length > 0) query.set('keyterms', JSON.stringify(terms))
    this.url = `${settings.baseUrl}/speech-to-text-realtime/ws?${query}`
    this.headers = { 'api-subscription-key': settings.apiKey }
  }

  encode(pcm: Int16Array): TextBytes {
    return this.#audio.write(viewBytes(pcm))
  }

  flush(): null {
    // The endpoint accepts a flush only with manual endpointing.
    return null
  }

  closeMessage(): string {
    return '{"event":"end"}'
  }

  classify(code: number, _reason: string): FailureClass {
    // 1003: key, quota or rate limit; 4000: model, parameter, or a key without access to this endpoint.
    return code === 1003 || code === 4000 ? PERMANENT : TRANSIENT
  }

  reset(): void {
    // Nothing to reset: every message is complete.
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const text = typeof message.text === 'string' ? message.text.trim() : ''
    if (message.event === 'transcript.partial') {
      if (text !== '') reader.partial(text)
    } else if (message.event === 'transcript.final') {
      reader.final(text, null, this.capabilities.detectsLanguage ? languageTagOf(message.language) : null)
    } else if (message.event === 'error' && message.is_fatal === true) {
      reader.failed(realtimeError(message))
    }
  }
}

function realtimeError(message: Readonly<Record<string, unknown>>): EngineError {
  const status = typeof message.status_code === 'number' ? message.status_code : 500
  const text = typeof message.message === 'string' ? message.message : 'unknown'
  const retryable = status >= 500
  return new EngineError(retryable ? 'vendor_failed' : 'vendor_rejected', `the vendor reports ${text}`, {
    retryable,
    context: { vendorCode: message.code, status },
  })
}
