import type { Clock } from '../../../base/clock.js'
import type { Log } from '../../../base/log.js'
import { vendorTag } from '../../language/language-tags.js'
import type { SpeakRequest, TextToSpeech } from '../../vendor-ports.js'
import { SARVAM } from '../catalogue.js'
import { isRecord } from '../openai/tool-calls.js'
import {
  type SynthesisDialect,
  type SynthesisReader,
  socketTextToSpeech,
} from '../shared/synthesis-connections.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { SarvamSettings } from './settings.js'
import { legacyError } from './stt.js'
import { findBulbulModel } from './voices.js'

const DEFAULT_MODEL = 'bulbul:v3'
const MAX_TEXT = 2500

/** Sarvam's bulbul over its socket: one text at a time, stopped only by closing the connection. */
export function sarvamTextToSpeech(
  settings: SarvamSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  return socketTextToSpeech(new SarvamBulbulDialect(settings), deps)
}

export class SarvamBulbulDialect implements SynthesisDialect {
  readonly vendor = SARVAM
  readonly firstAudioDeadlineMs = 1000
  readonly headers: Readonly<Record<string, string>>
  readonly maxContexts = 1
  readonly keepAlive = { afterMs: 20_000, message: '{"type":"ping"}' }
  readonly idleMs = 120_000
  #languageField: SarvamSettings['languageField']
  /** The other name of the field was tried. */
  #fieldChanged = false
  readonly #baseUrl: string

  constructor(settings: SarvamSettings) {
    this.#languageField = settings.languageField
    this.#baseUrl = settings.baseUrl
    this.headers = { 'api-subscription-key': settings.apiKey }
  }

  url(request: SpeakRequest): string {
    // Without the model here the connection is the oldest model's, whatever the configuration says.
    const query = new URLSearchParams({
      model: request.model ?? DEFAULT_MODEL,
      send_completion_event: 'true',
    })
    return `${this.#baseUrl}/text-to-speech/ws?${query}`
  }

  validate(request: SpeakRequest): string | null {
    // The vendor answers these with a text that names nothing.
    if (request.text.length > MAX_TEXT)
      return `a text of over ${MAX_TEXT} characters cannot be spoken at once`
    const model = findBulbulModel(request.model ?? DEFAULT_MODEL)
    if (model !== null && !model.speakers.includes(request.voice)) {
      return `${request.voice} is no voice of ${request.model ?? DEFAULT_MODEL}`
    }
    return null
  }

  begin(_context: string, request: SpeakRequest): readonly string[] {
    const model = findBulbulModel(request.model ?? DEFAULT_MODEL)
    const [slowest, fastest] = model?.pace ?? [0.5, 2]
    const config = {
      [this.#languageField]: vendorTag('sarvam', request.language),
      speaker: request.voice,
      pace: Math.min(fastest, Math.max(slowest, request.pace)),
      speech_sample_rate: request.rate,
      output_audio_codec: 'linear16',
      min_buffer_size: 30,
      max_chunk_length: 150,
    }
    return [
      JSON.stringify({ type: 'config', data: config }),
      JSON.stringify({ type: 'text', data: { text: request.text } }),
      '{"type":"flush"}',
    ]
  }

  cancel(): null {
    // Late sound of a stopped text could not be told from the next one's.
    return null
  }

  classify(code: number, reason: string): FailureClass {
    if (code === 1003) return /rate|limit|concurren/i.test(reason) ? RATE_LIMITED : PERMANENT
    return TRANSIENT
  }

  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader): void {
    const data = isRecord(message.data) ? message.data : {}
    if (message.type === 'audio' && typeof data.audio === 'string') {
      reader.audio(null, Buffer.from(data.audio, 'base64'))
    } else if (message.type === 'event' && data.event_type === 'final') {
      reader.done(null)
    } else if (message.type === 'error') {
      if (data.code === 422) this.#tryOtherField()
      // The vendor closes after most errors; what is on this connection is not to be trusted.
      reader.failed(undefined, legacyError(data))
    }
  }

  /** Its message for a wrong field names none; the next attempt uses the name its other clients send. */
  #tryOtherField(): void {
    if (this.#fieldChanged) return
    this.#fieldChanged = true
    this.#languageField = this.#languageField === 'language_code' ? 'target_language_code' : 'language_code'
  }
}
