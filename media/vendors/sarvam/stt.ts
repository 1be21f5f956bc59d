import type { RecognitionMode } from '../../agent/agent-spec.js'
import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToText, SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { AudioMessageWriter, type TextBytes } from '../shared/audio-messages.js'
import { isRecord } from '../shared/json.js'
import { viewBytes } from '../shared/pcm-bytes.js'
import {
  type RecognitionDialect,
  type RecognitionReader,
  RecognitionStream,
} from '../shared/recognition-stream.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { SarvamSettings } from './settings.js'
import { SarvamRealtimeDialect } from './stt-realtime.js'

const DEFAULT_MODEL = 'saaras:v3'

/**
 * Models of the realtime endpoint; the others use the legacy one.
 * https://docs.sarvam.ai/changelog/2026/9/3
 */
const REALTIME = /-realtime$|^saaras:v([4-9]|\d\d)/

/** Opens Sarvam's STT. */
export function sarvamSpeechToText(
  settings: SarvamSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): SpeechToText {
  return {
    id: 'sarvam',
    open({ rate, language, languages = [language], model, mode, vocabulary = [] }, events) {
      const name = model ?? DEFAULT_MODEL
      const stream = { rate, language, languages, model: name, mode, vocabulary }
      const dialect = REALTIME.test(name)
        ? new SarvamRealtimeDialect(settings, stream)
        : new SarvamLegacyDialect(settings, stream)
      return new RecognitionStream({ dialect, rate, events, clock, log })
    },
  }
}

/**
 * `/speech-to-text/ws`: one final text per utterance, no partial texts.
 * https://docs.sarvam.ai/api-reference/legacy/speech-to-text/transcribe/ws
 */
export class SarvamLegacyDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 60
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive: { readonly afterMs: number; message(): TextBytes }
  readonly #rate: number
  readonly #audio: AudioMessageWriter

  constructor(
    settings: SarvamSettings,
    stream: {
      readonly rate: number
      readonly language: string
      readonly languages: readonly string[]
      readonly model: string
      readonly mode: RecognitionMode
    },
  ) {
    this.#rate = stream.rate
    // The endpoint requires this encoding regardless of the codec of the connection.
    this.#audio = new AudioMessageWriter(
      '{"audio":{"data":"',
      `","encoding":"audio/wav","sample_rate":${stream.rate}}}`,
    )
    const understood = combinedLanguages(stream.language, stream.languages, VOICE_LANGUAGES)
    const several = understood.length > 1
    this.capabilities = {
      partials: false,
      endOfUtterance: true,
      wordTimes: false,
      understandsSpeech: true,
      finalDeadlineMs: 1500,
      understoodLanguages: understood,
      detectsLanguage: several,
    }
    const query = new URLSearchParams({
      'language-code': several ? 'unknown' : vendorTag('sarvam', stream.language),
      model: stream.model,
      mode: stream.mode,
      sample_rate: String(stream.rate),
      input_audio_codec: 'pcm_s16le',
      high_vad_sensitivity: 'true',
      vad_signals: 'true',
      flush_signal: 'true',
    })
    this.url = `${settings.baseUrl}/speech-to-text/ws?${query}`
    this.headers = { 'api-subscription-key': settings.apiKey }
    // The endpoint has no ping and drops a connection after about twenty seconds without audio.
    const silence = new Int16Array((stream.rate / 1000) * 60)
    this.keepAlive = { afterMs: 4000, message: () => this.encode(silence) }
  }

  encode(pcm: Int16Array): TextBytes {
    return this.#audio.write(viewBytes(pcm))
  }

  flush(): string {
    return '{"type":"flush"}'
  }

  closeMessage(): string {
    return `{"type":"end_of_stream","audio":{"data":"","encoding":"audio/wav","sample_rate":${this.#rate}}}`
  }

  classify(code: number, reason: string): FailureClass {
    // 1003 is a wrong key, an empty account or too many streams; the text tells them apart.
    if (code === 1003) return /rate|limit|concurren/i.test(reason) ? RATE_LIMITED : PERMANENT
    return code === 1008 && /key|auth|invalid/i.test(reason) ? PERMANENT : TRANSIENT
  }

  reset(): void {
    // Nothing to reset: every message is complete.
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const data = isRecord(message.data) ? message.data : {}
    if (message.type === 'data' && typeof data.transcript === 'string') {
      const detected = this.capabilities.detectsLanguage ? languageTagOf(data.language_code) : null
      reader.final(data.transcript.trim(), null, detected)
    } else if (message.type === 'error') {
      reader.failed(legacyError(data))
    }
  }
}

const PERMANENT_CODES = new Set([
  'invalid_request_error',
  'unprocessable_entity_error',
  'invalid_api_key_error',
  'authentication_error',
  'insufficient_quota_error',
  'not_found_error',
])

/** Classifies the vendor's error codes; the text is in `message` or in `error`. */
export function legacyError(data: Readonly<Record<string, unknown>>): EngineError {
  const code = typeof data.code === 'string' || typeof data.code === 'number' ? String(data.code) : ''
  const text = [data.message, data.error].find((part) => typeof part === 'string') ?? 'unknown'
  const limited = code === 'rate_limit_exceeded_error' || code === '429'
  const permanent = PERMANENT_CODES.has(code) || /^4\d\d$/.test(code)
  return new EngineError(
    limited ? 'vendor_rate_limited' : permanent ? 'vendor_rejected' : 'vendor_failed',
    `the vendor reports ${code} ${text}`.trim(),
    { retryable: limited || !permanent, context: { vendorCode: code } },
  )
}
