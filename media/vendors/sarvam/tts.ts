import { vendorTag } from '../../agent/language/language-tags.js'
import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
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

/**
 * Opens Sarvam's Bulbul TTS over its WebSocket: one text at a time, which only closing the connection can
 * stop. https://docs.sarvam.ai/api-reference-docs/text-to-speech/stream
 */
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
  /** The alternative field name was tried. */
  #fieldChanged = false
  readonly #baseUrl: string

  constructor(settings: SarvamSettings) {
    this.#languageField = settings.languageField
    this.#baseUrl = settings.baseUrl
    this.headers = { 'api-subscription-key': settings.apiKey }
  }

  url(request: SpeakRequest): string {
    // Without a model in the URL the connection uses the oldest model, whatever the configuration says.
    const query = new URLSearchParams({
      model: request.model ?? DEFAULT_MODEL,
      send_completion_event: 'true',
    })
    return `${this.#baseUrl}/text-to-speech/ws?${query}`
  }

  validate(request: SpeakRequest): string | null {
    // The vendor rejects these with an unspecific message.
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
    // Late audio of a cancelled text could not be told from that of the next one.
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
      // The vendor closes after most errors, so the connection is not reused.
      reader.failed(undefined, legacyError(data))
    }
  }

  /**
   * Switches to the field name of the vendor's other clients; the error message does not name the wrong
   * field.
   */
  #tryOtherField(): void {
    if (this.#fieldChanged) return
    this.#fieldChanged = true
    this.#languageField = this.#languageField === 'language_code' ? 'target_language_code' : 'language_code'
  }
}
