import { combinedLanguages, languageTagOf, vendorTag } from '../../agent/language/language-tags.js'
import type {
  SpeechToText,
  SpeechToTextCapabilities,
  SpeechToTextEvents,
  SpeechToTextStream,
} from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import type { Log } from '../../base/log.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { isRecord } from '../shared/json.js'
import { RecognitionStream } from '../shared/recognition-stream.js'
import { type SseEvent, SseParser } from '../shared/sse.js'
import { joinUrl, post, type VendorResponse } from '../shared/vendor-http.js'
import { wavFile } from '../shared/wav.js'
import { OPENAI } from '../vendor-ids.js'
import type { VendorDeps } from '../vendor-module.js'
import { withoutHallucination } from './hallucinations.js'
import { type Endpoint, SEVERAL_LANGUAGES, type TranscriptionServer, vocabularyPrompt } from './settings.js'
import { OpenAiTranscriptionDialect } from './stt-socket.js'
import { UtteranceBuffer } from './utterance-buffer.js'

const LIMITS = { headerMs: 8000, idleMs: 8000, totalMs: 12_000, maxBytes: 1024 * 1024 }

/** Utterances waiting for their text; a caller cannot outrun the model by more. */
const MAX_IN_FLIGHT = 4

/** A text and the language the endpoint detected, or null. */
interface Recognition {
  readonly text: string
  readonly language: string | null
}

const NOTHING: Recognition = { text: '', language: null }

/** Reports the detected language only in `verbose_json`. */
const VERBOSE = /^whisper-1$/

/** Models of OpenAI that only the realtime socket serves. */
const SOCKET_ONLY = /^gpt-(live-transcribe|realtime-whisper)/

/**
 * Opens transcription: over the realtime socket where the server has one, otherwise by upload of whole utterances.
 * Our VAD delimits the utterances. https://platform.openai.com/docs/api-reference/audio
 */
export function openAiSpeechToText(
  settings: Endpoint & {
    readonly transcriptionMs?: number | undefined
    readonly transcriptionModel: string | null
    readonly transcriptionServer?: TranscriptionServer | null
  },
  { clock, log, connections }: Pick<VendorDeps, 'clock' | 'log' | 'connections'>,
): SpeechToText {
  return {
    id: OPENAI,
    open({ rate, language, languages = [language], model, mode, vocabulary = [] }, events) {
      const name = model ?? settings.transcriptionModel ?? ''
      const server = settings.transcriptionServer ?? (SOCKET_ONLY.test(name) ? 'openai' : null)
      if (server !== null && mode !== 'translate') {
        const dialect = new OpenAiTranscriptionDialect(server, settings, {
          rate,
          model: name,
          language,
          languages,
          vocabulary,
        })
        return new RecognitionStream({ dialect, rate, events, clock, log })
      }
      // Translation has its own endpoint and detects the language itself.
      const path = mode === 'translate' ? 'audio/translations' : 'audio/transcriptions'
      const stop = new AbortController()
      const understood = combinedLanguages(language, languages, VOICE_LANGUAGES)
      // A translation is in English, regardless of the detected language.
      const several = understood.length > 1 && mode !== 'translate'
      const recognise = async (pcm: Int16Array): Promise<Recognition> => {
        const form = new FormData()
        form.set('file', new Blob([wavFile(pcm, rate)], { type: 'audio/wav' }), 'utterance.wav')
        form.set('model', name)
        if (SEVERAL_LANGUAGES.test(name)) {
          for (const tag of understood) form.append('languages[]', vendorTag('iso', tag))
        }
        // Without this field the endpoint detects the language.
        else if (mode !== 'translate' && !several) form.set('language', vendorTag('iso', language))
        for (const [field, value] of vocabularyFields(name, vocabulary)) form.append(field, value)
        form.set('response_format', several && VERBOSE.test(name) ? 'verbose_json' : 'json')
        const heard = await recognised(settings, path, form, { clock, connections }, stop.signal)
        return several ? heard : { ...heard, language: null }
      }
      const deadlineMs = settings.transcriptionMs
      return new UtteranceStream({ rate, events, recognise, stop, log, understood, deadlineMs })
    },
  }
}

/**
 * Returns the form fields for a vocabulary: key words for the models of 2026, a prompt for the others.
 * https://developers.openai.com/api/reference/resources/audio
 */
function vocabularyFields(model: string, vocabulary: readonly string[]): readonly [string, string][] {
  if (vocabulary.length === 0) return []
  if (SEVERAL_LANGUAGES.test(model)) return vocabulary.map((term) => ['keywords[]', term])
  return [['prompt', vocabularyPrompt(model, vocabulary)]]
}

class UtteranceStream implements SpeechToTextStream {
  readonly capabilities: SpeechToTextCapabilities
  readonly #buffer: UtteranceBuffer
  readonly #events: SpeechToTextEvents
  readonly #recognise: (pcm: Int16Array) => Promise<Recognition>
  readonly #stop: AbortController
  readonly #log: Log
  #inFlight = 0
  /** Texts of the parts of the utterance that goes on. */
  #parts: Promise<Recognition>[] = []
  /** Final texts are reported in the order of the utterances, regardless of the order of the responses. */
  #previous: Promise<void> = Promise.resolve()

  constructor(options: {
    readonly rate: number
    readonly events: SpeechToTextEvents
    readonly recognise: (pcm: Int16Array) => Promise<Recognition>
    readonly stop: AbortController
    readonly log: Log
    readonly understood: readonly string[]
    /** Set by the operator. */
    readonly deadlineMs: number | undefined
  }) {
    this.capabilities = {
      partials: false,
      endOfUtterance: false,
      wordTimes: false,
      understandsSpeech: true,
      finalDeadlineMs: options.deadlineMs ?? 1500,
      deadlineSet: options.deadlineMs !== undefined,
      understoodLanguages: options.understood,
      detectsLanguage: options.understood.length > 1,
    }
    this.#buffer = new UtteranceBuffer(options.rate)
    this.#events = options.events
    this.#recognise = options.recognise
    this.#stop = options.stop
    this.#log = options.log
  }

  write(pcm: Int16Array, atMs: number): void {
    if (this.#stop.signal.aborted) return
    const part = this.#buffer.write(pcm, atMs)
    if (part === null) return
    const text = this.#textOf(part)
    // A failure is reported with the end of the utterance.
    text.catch(() => {})
    this.#parts.push(text)
  }

  utteranceStart(atMs: number): void {
    if (this.#stop.signal.aborted) return
    this.#parts = []
    this.#buffer.start(atMs)
  }

  utteranceEnd(atMs: number): void {
    if (this.#stop.signal.aborted) return
    const pcm = this.#buffer.end(atMs)
    const texts = pcm === null ? this.#parts : [...this.#parts, this.#textOf(pcm)]
    this.#parts = []
    if (texts.length > 0) this.#previous = this.#deliver(joined(texts), this.#previous)
  }

  close(): void {
    this.#stop.abort()
  }

  #textOf(pcm: Int16Array): Promise<Recognition> {
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      this.#log.warn({ inFlight: this.#inFlight }, 'stt.utterance_dropped')
      return Promise.resolve(NOTHING)
    }
    this.#inFlight++
    return this.#recognise(pcm).finally(() => {
      this.#inFlight--
    })
  }

  async #deliver(text: Promise<Recognition>, previous: Promise<void>): Promise<void> {
    // Awaiting both together keeps either rejection from being unhandled.
    const [outcome] = await Promise.allSettled([text, previous])
    if (this.#stop.signal.aborted) return
    if (outcome.status === 'fulfilled') this.#events.final(outcome.value.text, null, outcome.value.language)
    else this.#events.failed(asEngineError(outcome.reason))
  }
}

/** Returns the text of an utterance from those of its parts, with the language that was heard last. */
async function joined(parts: readonly Promise<Recognition>[]): Promise<Recognition> {
  const heard = await Promise.all(parts)
  const text = heard.map((part) => part.text).filter((part) => part !== '')
  return {
    text: text.join(' '),
    language: heard.findLast(({ language }) => language !== null)?.language ?? null,
  }
}

async function recognised(
  settings: Endpoint,
  path: string,
  form: FormData,
  deps: Pick<VendorDeps, 'clock' | 'connections'>,
  signal: AbortSignal,
): Promise<Recognition> {
  const response = await post({
    url: joinUrl(settings.baseUrl, path),
    apiKey: settings.apiKey,
    body: form,
    limits: LIMITS,
    ...deps,
    signal,
  })
  const { text, language } = await readBody(response)
  return { text: withoutHallucination(text), language }
}

const EVENTS = /^(?:data|event|id|retry)?:/

/** Reads a transcript by the content of the body, because servers label it wrongly: events, JSON or plain text. */
async function readBody(response: VendorResponse): Promise<Recognition> {
  const decoder = new TextDecoder()
  const parser = new SseParser()
  let body = ''
  let deltas = ''
  let done: string | null = null
  const take = ({ data }: SseEvent): void => {
    if (data === '' || data === '[DONE]') return
    const event = parseJson(data)
    if (!isRecord(event)) return
    if (event.type === 'transcript.text.delta' && typeof event.delta === 'string') deltas += event.delta
    if (event.type === 'transcript.text.done' && typeof event.text === 'string') done = event.text
  }
  const events = () => EVENTS.test(body.trimStart())
  let fed = 0
  await response.read((bytes) => {
    body += decoder.decode(bytes, { stream: true })
    // The first line shows the kind of the body.
    if (body.includes('\n') && events()) {
      parser.pushText(body.slice(fed), take)
      fed = body.length
    }
    return done === null
  })
  if (events()) {
    parser.pushText(body.slice(fed), take)
    parser.end(take)
    return { text: done ?? deltas, language: null }
  }
  const plain = response.contentType === '' || response.contentType.startsWith('text/plain')
  return plain && !body.trimStart().startsWith('{') ? { text: body, language: null } : readJson(body)
}

function readJson(body: string): Recognition {
  const parsed = parseJson(body)
  if (isRecord(parsed) && typeof parsed.text === 'string') {
    const [first] = Array.isArray(parsed.languages) ? parsed.languages : [parsed.language]
    return { text: parsed.text, language: languageTagOf(first) }
  }
  throw new EngineError('vendor_failed', 'the STT vendor sent no text', { context: { length: body.length } })
}

function parseJson(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch (error) {
    throw new EngineError('vendor_failed', 'the STT vendor sent invalid JSON', { cause: error })
  }
}

function asEngineError(error: unknown): EngineError {
  return error instanceof EngineError
    ? error
    : new EngineError('vendor_failed', errorText(error), { cause: error })
}
