import { vendorTag } from '../../agent/language/language-tags.js'
import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { isRecord } from '../shared/json.js'
import { socketTextToSpeech } from '../shared/synthesis-connections.js'
import type { Continuation, SynthesisDialect, SynthesisReader } from '../shared/synthesis-dialect.js'
import { classifyStatus, type FailureClass, PERMANENT, TRANSIENT } from '../shared/vendor-socket.js'
import type { CartesiaSettings } from './settings.js'

const DEFAULT_MODEL = 'sonic-3'

/**
 * Opens Cartesia TTS over its WebSocket: one connection for all voices, one context per reply. A flush after each
 * sentence marks its end in the audio.
 * https://docs.cartesia.ai/2026-03-01/api-reference/tts/websocket
 * https://docs.cartesia.ai/use-the-api/tts-websocket/contexts
 * https://docs.cartesia.ai/use-the-api/tts-websocket/context-flushing-and-flush-i-ds
 */
export function cartesiaTextToSpeech(
  settings: CartesiaSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  return socketTextToSpeech(new CartesiaDialect(settings), deps)
}

export class CartesiaDialect implements SynthesisDialect {
  readonly vendor = 'cartesia'
  readonly firstAudioDeadlineMs = 900
  readonly audioField = 'data'
  readonly headers: Readonly<Record<string, string>>
  readonly maxContexts = 32
  // The vendor closes an idle connection after five minutes; the protocol has no keep-alive.
  readonly keepAlive = null
  readonly idleMs = 240_000
  readonly continuation: Continuation = {
    // The vendor drops a context one second after its last audio; a message needs time to get there.
    expiresMs: 800,
    begin: (context, request) => this.#sentence(context, request),
    next: (context, request) => this.#sentence(context, request),
    finish: (context, request) => this.#message(context, request, { transcript: '', continue: false }),
  }
  readonly #settings: CartesiaSettings

  constructor(settings: CartesiaSettings) {
    this.#settings = settings
    this.headers = { 'X-API-Key': settings.apiKey, 'Cartesia-Version': settings.version }
  }

  url(): string {
    return `${this.#settings.baseUrl}/tts/websocket`
  }

  validate(): null {
    return null
  }

  begin(context: string, request: SpeakRequest): readonly string[] {
    return [this.#message(context, request, { transcript: request.text, continue: false })]
  }

  #sentence(context: string, request: SpeakRequest): readonly string[] {
    return [
      // The vendor joins the texts of a context as they are.
      this.#message(context, request, { transcript: `${request.text.trimEnd()} `, continue: true }),
      this.#message(context, request, { transcript: '', continue: true, flush: true }),
    ]
  }

  /** Every message of a context must carry the same settings. */
  #message(context: string, request: SpeakRequest, input: Readonly<Record<string, unknown>>): string {
    const id = this.#settings.voices.find((entry) => entry.name === request.voice)?.id ?? request.voice
    return JSON.stringify({
      context_id: context,
      model_id: request.model ?? DEFAULT_MODEL,
      language: vendorTag('iso', request.language),
      voice: { mode: 'id', id },
      ...input,
      output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: request.rate },
      // Requests carry whole sentences, so the vendor need not wait for more text.
      max_buffer_delay_ms: 0,
      add_timestamps: true,
      generation_config: { speed: Math.min(1.5, Math.max(0.6, request.pace)) },
    })
  }

  cancel(context: string): string {
    return JSON.stringify({ context_id: context, cancel: true })
  }

  classify(code: number, reason: string): FailureClass {
    return code === 1008 || /key|unauthori|quota/i.test(reason) ? PERMANENT : TRANSIENT
  }

  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader, audio: Uint8Array | null): void {
    const context = typeof message.context_id === 'string' ? message.context_id : undefined
    if (message.type === 'error') {
      reader.failed(context, failure(message))
      return
    }
    if (context === undefined) return
    if (message.type === 'chunk' && typeof message.data === 'string') {
      reader.audio(context, audio ?? Buffer.from(message.data, 'base64'))
    } else if (message.type === 'timestamps' && isRecord(message.word_timestamps)) {
      reportWords(message.word_timestamps, context, reader)
    }
    if (message.type === 'flush_done') reader.textDone(context)
    if (message.type === 'done') reader.done(context)
  }
}

function reportWords(
  times: Readonly<Record<string, unknown>>,
  context: string,
  reader: SynthesisReader,
): void {
  const { words, start } = times
  if (!Array.isArray(words) || !Array.isArray(start)) return
  for (let i = 0; i < words.length; i++) {
    const word: unknown = words[i]
    if (typeof word === 'string' && word !== '')
      reader.wordInContext(context, word, Number(start[i] ?? 0) * 1000)
  }
}

/** Older API versions carry the text in `error`. */
function failure(message: Readonly<Record<string, unknown>>): EngineError {
  const status = typeof message.status_code === 'number' ? message.status_code : 500
  const { code, retryable } = classifyStatus(status)
  const text = [message.message, message.title, message.error].find((part) => typeof part === 'string')
  return new EngineError(code, `the vendor reports ${status}: ${text ?? 'unknown'}`, {
    retryable,
    context: { status },
  })
}
