import { vendorTag } from '../../agent/language/language-tags.js'
import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { catalogueFile, mayHaveVoice } from '../shared/catalogue-file.js'
import { isRecord } from '../shared/json.js'
import { socketTextToSpeech } from '../shared/synthesis-connections.js'
import type { SynthesisDialect, SynthesisReader } from '../shared/synthesis-dialect.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { CatalogueData, SpeechModelData } from '../vendor-module.js'
import type { SarvamSettings } from './settings.js'
import { legacyError } from './stt.js'

const DEFAULT_MODEL = 'bulbul:v3'
const MAX_TEXT = 2500

const builtIn = catalogueFile('sarvam')

/**
 * Opens Sarvam's Bulbul TTS over its WebSocket: one text at a time, which only closing the connection can
 * stop. https://docs.sarvam.ai/api-reference-docs/text-to-speech/stream
 */
export function sarvamTextToSpeech(
  settings: SarvamSettings,
  deps: { readonly clock: Clock; readonly log: Log; readonly catalogue?: CatalogueData | null },
): TextToSpeech {
  return socketTextToSpeech(new SarvamBulbulDialect(settings, deps.catalogue), deps)
}

export class SarvamBulbulDialect implements SynthesisDialect {
  readonly vendor = 'sarvam'
  readonly firstAudioDeadlineMs = 1000
  readonly audioField = 'audio'
  readonly headers: Readonly<Record<string, string>>
  readonly maxContexts = 1
  readonly keepAlive = { afterMs: 20_000, message: '{"type":"ping"}' }
  readonly idleMs = 120_000
  #languageField: SarvamSettings['languageField']
  /** The alternative field name was tried. */
  #fieldChanged = false
  readonly #baseUrl: string
  readonly #models: readonly SpeechModelData[]

  constructor(settings: SarvamSettings, operator: CatalogueData | null = null) {
    this.#models = [operator, builtIn()].flatMap((data) => data?.sarvam?.speechModels ?? [])
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
    const model = request.model ?? DEFAULT_MODEL
    const entry = this.#find(model)
    const listed = entry?.voices?.some(({ name }) => name === request.voice) ?? true
    if (entry !== undefined && !listed && !mayHaveVoice(entry, request.voice)) {
      return `${request.voice} is no voice of ${model}`
    }
    return null
  }

  begin(_context: string, request: SpeakRequest): readonly string[] {
    const { paceMin = 0.5, paceMax = 2 } = this.#find(request.model ?? DEFAULT_MODEL) ?? {}
    const config = {
      [this.#languageField]: vendorTag('sarvam', request.language),
      speaker: request.voice,
      pace: Math.min(paceMax, Math.max(paceMin, request.pace)),
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

  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader, audio: Uint8Array | null): void {
    const data = isRecord(message.data) ? message.data : {}
    if (message.type === 'audio' && typeof data.audio === 'string') {
      reader.audio(null, audio ?? Buffer.from(data.audio, 'base64'))
    } else if (message.type === 'event' && data.event_type === 'final') {
      reader.done(null)
    } else if (message.type === 'error') {
      if (data.code === 422) this.#tryOtherField()
      // The vendor closes after most errors, so the connection is not reused.
      reader.failed(undefined, legacyError(data))
    }
  }

  /** Returns the catalogue entry of a listed model; a newer one is left to the vendor. */
  #find(name: string): SpeechModelData | undefined {
    return this.#models.find(({ model }) => model === name)
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
