import { vendorTag } from '../../agent/language/language-tags.js'
import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { isRecord } from '../shared/json.js'
import { socketTextToSpeech } from '../shared/synthesis-connections.js'
import type { Continuation, SynthesisDialect, SynthesisReader } from '../shared/synthesis-dialect.js'
import { type FailureClass, PERMANENT, RATE_LIMITED, TRANSIENT } from '../shared/vendor-socket.js'
import type { ElevenLabsSettings } from './settings.js'

const DEFAULT_MODEL = 'eleven_flash_v2_5'
/** The longest that the vendor allows. */
const INACTIVITY_S = 180
/** Models that accept `language_code`. */
const TAKES_LANGUAGE = /_v2_5$/

/**
 * Opens ElevenLabs TTS over the multi-context WebSocket: one connection per call and voice, as the vendor asks,
 * and one context per reply, flushed after each sentence.
 * https://elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input
 * https://elevenlabs.io/docs/eleven-api/guides/how-to/websockets/multi-context-web-socket
 */
export function elevenLabsTextToSpeech(
  settings: ElevenLabsSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  return socketTextToSpeech(new ElevenLabsDialect(settings), deps)
}

export class ElevenLabsDialect implements SynthesisDialect {
  readonly vendor = 'elevenlabs'
  readonly firstAudioDeadlineMs = 900
  readonly audioField = 'audio'
  readonly headers: Readonly<Record<string, string>>
  // The vendor allows five contexts; a closed one counts until its last message arrived.
  readonly maxContexts = 4
  readonly countsCancelled = true
  readonly connectionPerCall = true
  readonly continuation: Continuation = {
    // The vendor drops a silent context after `inactivity_timeout`.
    expiresMs: INACTIVITY_S * 1000 - 10_000,
    begin: (context, request) => [open(context, request), ...text(context, request)],
    next: text,
    finish: close,
  }
  // An unopened context must not be flushed or kept alive, so an idle connection lives only as long as the
  // vendor keeps it.
  readonly keepAlive = null
  readonly idleMs = 120_000
  readonly #settings: ElevenLabsSettings

  constructor(settings: ElevenLabsSettings) {
    this.#settings = settings
    this.headers = { 'xi-api-key': settings.apiKey }
  }

  url(request: SpeakRequest): string {
    const model = request.model ?? DEFAULT_MODEL
    const voice = this.#settings.voices.find((entry) => entry.name === request.voice)?.id ?? request.voice
    const query = new URLSearchParams({
      model_id: model,
      output_format: `pcm_${request.rate}`,
      auto_mode: 'true',
      inactivity_timeout: `${INACTIVITY_S}`,
      sync_alignment: 'true',
    })
    if (TAKES_LANGUAGE.test(model)) query.set('language_code', vendorTag('iso', request.language))
    return `${this.#settings.baseUrl}/v1/text-to-speech/${encodeURIComponent(voice)}/multi-stream-input?${query}`
  }

  validate(): null {
    return null
  }

  begin(context: string, request: SpeakRequest): readonly string[] {
    return [open(context, request), ...text(context, request), close(context)]
  }

  cancel(context: string): string {
    return close(context)
  }

  classify(code: number, reason: string): FailureClass {
    if (/rate_limit|too_many|max_active/i.test(reason)) return RATE_LIMITED
    if (/quota|invalid|unauthori|not_found|permission|unsupported/i.test(reason)) return PERMANENT
    // Wrong voices and models are reported by these codes, with a text in the reason.
    return code === 1008 || code === 1009 ? PERMANENT : TRANSIENT
  }

  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader, audio: Uint8Array | null): void {
    const context = typeof message.contextId === 'string' ? message.contextId : undefined
    if (typeof message.error === 'string') {
      const failure = this.classify(1008, message.error)
      const text = typeof message.message === 'string' ? message.message : message.error
      reader.failed(
        context,
        new EngineError(failure.code, `the vendor reports ${message.error}: ${text}`, {
          retryable: failure.retryable,
        }),
      )
      return
    }
    if (context === undefined) return
    if (typeof message.audio === 'string') {
      const alignment = isRecord(message.alignment) ? message.alignment : null
      if (alignment !== null) reportWords(alignment, context, reader)
      reader.audio(context, audio ?? Buffer.from(message.audio, 'base64'))
      // There is no message for the end of a flushed sentence: it ends with its last character.
      if (alignment !== null) reader.spoken(context, characters(alignment))
    }
    if (message.isFinal === true) reader.done(context)
  }
}

/** Opens a context: one space and the settings, which must not be sent again. */
function open(context: string, { pace }: SpeakRequest): string {
  const speed = Math.min(1.2, Math.max(0.7, pace))
  const settings = { stability: 0.5, similarity_boost: 0.8, speed }
  return JSON.stringify({ text: ' ', context_id: context, voice_settings: settings })
}

function text(context: string, request: SpeakRequest): readonly string[] {
  return [
    JSON.stringify({ text: `${request.text.trimEnd()} `, context_id: context }),
    JSON.stringify({ context_id: context, flush: true }),
  ]
}

function close(context: string): string {
  return JSON.stringify({ context_id: context, close_context: true })
}

/** Returns the number of characters in an alignment, without white space. */
function characters({ chars }: Readonly<Record<string, unknown>>): number {
  return Array.isArray(chars) ? chars.join('').replaceAll(/\s/g, '').length : 0
}

/** Converts times of characters, relative to their audio message, into times of words. */
function reportWords(
  alignment: Readonly<Record<string, unknown>>,
  context: string,
  reader: SynthesisReader,
): void {
  const { chars, charStartTimesMs } = alignment
  if (!Array.isArray(chars) || !Array.isArray(charStartTimesMs)) return
  const before = reader.receivedMs(context)
  let word = ''
  let atMs = 0
  for (let i = 0; i <= chars.length; i++) {
    const char: unknown = chars[i]
    if (typeof char === 'string' && char.trim() !== '') {
      if (word === '') atMs = Number(charStartTimesMs[i] ?? 0)
      word += char
    } else if (word !== '') {
      reader.word(context, word, before + atMs)
      word = ''
    }
  }
}
