import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type { SpeechToTextCapabilities } from '../../agent/vendor-ports.js'
import type { SessionRate } from '../../base/frame.js'
import { openResampler } from '../../codec/resampler.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { AudioMessageWriter, type TextBytes } from '../shared/audio-messages.js'
import { isRecord } from '../shared/json.js'
import { viewBytes } from '../shared/pcm-bytes.js'
import type { RecognitionDialect, RecognitionReader } from '../shared/recognition-stream.js'
import type { FailureClass } from '../shared/vendor-socket.js'
import { withoutHallucination } from './hallucinations.js'
import { openRealtimeAudio } from './realtime-audio.js'
import { classifyClose, realtimeError, transcription } from './realtime-messages.js'
import { type Endpoint, SEVERAL_LANGUAGES, type TranscriptionServer, vocabularyPrompt } from './settings.js'

/** Options of one stream. */
export interface TranscriptionOptions {
  readonly rate: SessionRate
  readonly model: string
  readonly language: string
  readonly languages: readonly string[]
  readonly vocabulary?: readonly string[]
}

/** Messages of one server where the servers differ. */
interface ServerDialect {
  readonly query: Readonly<Record<string, string>>
  /** Configures the connection. Our detector ends the utterances, so the server's own detector is off. */
  readonly configuration: object
  /** Message before the audio of an utterance, or null. */
  readonly begin: object | null
  /** Message that asks for the text of the audio. */
  readonly commit: object
  /** Messages with a part of the text; `whole` ones contain the text so far. */
  readonly partial: { readonly type: string; readonly whole: boolean } | null
  readonly final: { readonly type: string; readonly field: string }
  /** True if the server names the language of a text. */
  readonly namesLanguage: boolean
  /** True if the server drops audio that it gets before the last text is out. */
  readonly serial: boolean
  /** Returns the audio as the server takes it, until the next call. */
  encode(pcm: Int16Array): Uint8Array
}

const COMMIT = { type: 'input_audio_buffer.commit' }
const DELTA = 'conversation.item.input_audio_transcription.delta'
const COMPLETED = { type: 'conversation.item.input_audio_transcription.completed', field: 'transcript' }
const FAILED = 'conversation.item.input_audio_transcription.failed'

/**
 * Streaming transcription over the realtime socket of OpenAI and of servers of its kind. The server receives the
 * audio of utterances only, because it would transcribe the silence between them.
 * https://developers.openai.com/api/docs/guides/realtime-transcription
 */
export class OpenAiTranscriptionDialect implements RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly chunkMs = 40
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly keepAlive = null
  readonly #server: ServerDialect
  readonly #audio = new AudioMessageWriter('{"type":"input_audio_buffer.append","audio":"', '"}')
  #item: unknown = null
  #text = ''
  /** Commits without their text. */
  #unanswered = 0

  constructor(
    server: TranscriptionServer,
    settings: Endpoint & { readonly transcriptionMs?: number | undefined },
    options: TranscriptionOptions,
  ) {
    const understood = combinedLanguages(options.language, options.languages, VOICE_LANGUAGES)
    const language = understood.length > 1 ? null : options.language
    this.#server = SERVERS[server](options, language)
    this.capabilities = {
      partials: this.#server.partial !== null,
      endOfUtterance: false,
      wordTimes: false,
      understandsSpeech: true,
      finalDeadlineMs: settings.transcriptionMs ?? 1500,
      deadlineSet: settings.transcriptionMs !== undefined,
      understoodLanguages: understood,
      detectsLanguage: understood.length > 1 && this.#server.namesLanguage,
    }
    const query = new URLSearchParams(this.#server.query)
    const base = settings.baseUrl.replace(/^http/, 'ws').replace(/\/{1,16}$/, '')
    this.url = `${base}/realtime${query.size === 0 ? '' : `?${query}`}`
    this.headers = settings.apiKey === null ? {} : { authorization: `Bearer ${settings.apiKey}` }
  }

  get busy(): boolean {
    return this.#server.serial && this.#unanswered > 0
  }

  openMessage(): string {
    return JSON.stringify(this.#server.configuration)
  }

  utteranceMessages(): readonly string[] {
    return this.#server.begin === null ? [] : [JSON.stringify(this.#server.begin)]
  }

  encode(pcm: Int16Array): TextBytes {
    return this.#audio.write(this.#server.encode(pcm))
  }

  flush(): string {
    this.#unanswered++
    return JSON.stringify(this.#server.commit)
  }

  closeMessage(): null {
    return null
  }

  classify(code: number, reason: string): FailureClass {
    return classifyClose(code, reason)
  }

  reset(): void {
    this.#item = null
    this.#text = ''
    this.#unanswered = 0
  }

  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    const { partial, final } = this.#server
    if (message.type === partial?.type) this.#partial(message, reader, partial?.whole === true)
    else if (message.type === final.type) {
      const text = message[final.field]
      const [first] = Array.isArray(message.languages) ? message.languages : []
      const language = this.capabilities.detectsLanguage ? languageTagOf(first) : null
      this.#final(typeof text === 'string' ? text : '', reader, language)
    } else if (message.type === FAILED || message.type === 'error')
      this.#failure(message.error, message, reader)
  }

  #partial(message: Readonly<Record<string, unknown>>, reader: RecognitionReader, whole: boolean): void {
    const delta = message.delta
    if (typeof delta !== 'string') return
    const item = message.item_id ?? null
    if (whole || item !== this.#item) this.#text = ''
    this.#item = item
    this.#text += delta
    if (this.#text.trim() !== '') reader.partial(this.#text.trim())
  }

  #final(text: string, reader: RecognitionReader, language: string | null): void {
    this.#text = ''
    this.#item = null
    this.#unanswered = Math.max(0, this.#unanswered - 1)
    reader.final(withoutHallucination(text), null, language)
  }

  #failure(error: unknown, message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void {
    // vLLM sends the text in `error` and the code beside it.
    const fields = typeof error === 'string' ? { message: error, code: message.code } : error
    const text = isRecord(fields) ? `${fields.code} ${fields.message}` : ''
    // Too little audio for a text.
    if (/commit_empty|buffer too small|buffer is empty/i.test(text)) this.#final('', reader, null)
    else reader.failed(realtimeError(fields, 'transcription'))
  }
}

/** OpenAI's newest models take key words; gpt-realtime-whisper takes neither these nor a prompt. */
function vocabularyField({ model, vocabulary = [] }: TranscriptionOptions): object {
  if (vocabulary.length === 0 || model.startsWith('gpt-realtime-whisper')) return {}
  return SEVERAL_LANGUAGES.test(model)
    ? { keywords: vocabulary }
    : { prompt: vocabularyPrompt(model, vocabulary) }
}

const SERVERS: Readonly<
  Record<TranscriptionServer, (options: TranscriptionOptions, language: string | null) => ServerDialect>
> = {
  // https://developers.openai.com/api/docs/guides/realtime-transcription
  openai(options, language) {
    const audio = openRealtimeAudio(options.rate)
    return {
      query: { intent: 'transcription' },
      configuration: {
        type: 'session.update',
        session: {
          type: 'transcription',
          audio: {
            input: {
              format: audio.format,
              transcription: {
                ...transcription(options.model, language, language === null ? options.languages : []),
                ...vocabularyField(options),
              },
              turn_detection: null,
            },
          },
        },
      },
      begin: null,
      commit: COMMIT,
      partial: { type: DELTA, whole: false },
      final: COMPLETED,
      namesLanguage: SEVERAL_LANGUAGES.test(options.model),
      serial: false,
      encode: (pcm) => audio.encode(pcm),
    }
  },
  // https://speaches.ai/usage/realtime-api/ (audio at 24 kHz; partial texts need the server's own detector)
  speaches(options, language) {
    const resampler = openResampler(options.rate, 24_000)
    return {
      query: {
        intent: 'transcription',
        model: options.model,
        ...(language === null ? {} : { language: vendorTag('iso', language) }),
      },
      configuration: { type: 'session.update', session: { turn_detection: null } },
      begin: null,
      commit: COMMIT,
      partial: null,
      final: COMPLETED,
      namesLanguage: false,
      serial: false,
      encode: (pcm) => viewBytes(resampler.process(pcm)),
    }
  },
  // https://docs.together.ai/reference/audio-transcriptions-realtime
  together(options) {
    const resampler = openResampler(options.rate, 16_000)
    return {
      query: { model: options.model, input_audio_format: 'pcm_s16le_16000' },
      configuration: { type: 'transcription_session.updated', session: { turn_detection: null } },
      begin: null,
      commit: COMMIT,
      partial: { type: DELTA, whole: true },
      final: COMPLETED,
      namesLanguage: false,
      serial: false,
      encode: (pcm) => viewBytes(resampler.process(pcm)),
    }
  },
  // https://docs.vllm.ai/en/latest/api/vllm/entrypoints/speech_to_text/realtime/api_router/
  vllm(options) {
    const resampler = openResampler(options.rate, 16_000)
    return {
      query: {},
      configuration: { type: 'session.update', model: options.model },
      begin: COMMIT,
      commit: { ...COMMIT, final: true },
      partial: { type: 'transcription.delta', whole: false },
      final: { type: 'transcription.done', field: 'text' },
      namesLanguage: false,
      serial: true,
      encode: (pcm) => viewBytes(resampler.process(pcm)),
    }
  },
}
