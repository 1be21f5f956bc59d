import { LearntManners, type MannersOf } from '../../agent/learnt-manners.js'
import type {
  Cancellable,
  SpeechToSpeech,
  SpeechToSpeechEvents,
  SpeechToSpeechOptions,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  VendorFailure,
} from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { AudioMessageWriter, type TextBytes } from '../shared/audio-messages.js'
import { isRecord } from '../shared/json.js'
import { VendorSocket } from '../shared/vendor-socket.js'
import { OPENAI_REALTIME } from '../vendor-ids.js'
import type { VendorDeps } from '../vendor-module.js'
import { openRealtimeAudio, type RealtimeAudio } from './realtime-audio.js'
import {
  classifyClose,
  historyItems,
  phraseResponse,
  type RealtimeMessage,
  realtimeError,
  refusesEffort,
  SETUP_EVENT_ID,
  sessionUpdate,
  textItem,
  toolOutput,
} from './realtime-messages.js'
import { isAudioDelta, RealtimeResponses } from './realtime-responses.js'
import type { OpenAiSettings, RealtimeSettings } from './settings.js'

const CONNECT_MS = 4000
/** Deadline from the open socket to the configured session (ms). */
const SETUP_MS = 4000
/** Audio per message (ms). */
const CHUNK_MS = 40
/** Bounds of audio and messages kept until the session is configured. */
const MAX_PENDING_CHUNKS = 100
const MAX_PENDING_MESSAGES = 200
/** A reply arrives in chunks of a second at most; returned items may be larger. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const MAX_BUFFERED_BYTES = 512 * 1024
/** The vendor ends a session after 60 minutes; sessions cannot be resumed. */
const MAX_SESSION_MS = 60 * 60_000
const FIRST_AUDIO_MS = 2500

/**
 * Opens OpenAI Realtime, or a compatible server, over its WebSocket.
 * https://platform.openai.com/docs/guides/realtime
 */
export function openAiSpeechToSpeech(
  settings: OpenAiSettings,
  realtime: RealtimeSettings,
  { clock, log, manners = new LearntManners() }: Pick<VendorDeps, 'clock' | 'log' | 'manners'>,
): SpeechToSpeech {
  const efforts = manners.of<'without effort'>(OPENAI_REALTIME)
  return {
    id: OPENAI_REALTIME,
    capabilities: {
      turnEnd: realtime.turns !== 'ours',
      firstAudioDeadlineMs: FIRST_AUDIO_MS,
      maxConnectionMs: MAX_SESSION_MS,
    },
    open: (options, events) =>
      new RealtimeStream(settings, realtime, options, events, { clock, log, efforts }),
  }
}

class RealtimeStream implements SpeechToSpeechStream {
  readonly #realtime: RealtimeSettings
  readonly #options: SpeechToSpeechOptions
  readonly #events: SpeechToSpeechEvents
  readonly #log: Log
  /** Models that refused an effort. */
  readonly #efforts: MannersOf<'without effort'>
  #askedEffort = false
  readonly #socket: VendorSocket
  readonly #audioFormat: RealtimeAudio
  readonly #responses: RealtimeResponses
  readonly #chunk: Int16Array
  #filled = 0
  /** Messages kept until the session is configured. */
  readonly #pendingAudio: TextBytes[] = []
  readonly #audioMessages = new AudioMessageWriter('{"type":"input_audio_buffer.append","audio":"', '"}')
  readonly #pendingMessages: string[] = []
  #setupTimer: Timer | null = null
  #ready = false
  #closed = false

  constructor(
    settings: OpenAiSettings,
    realtime: RealtimeSettings,
    options: SpeechToSpeechOptions,
    events: SpeechToSpeechEvents,
    {
      clock,
      log,
      efforts,
    }: { readonly clock: Clock; readonly log: Log; readonly efforts: MannersOf<'without effort'> },
  ) {
    this.#efforts = efforts
    this.#realtime = realtime
    this.#options = options
    this.#events = events
    this.#log = log
    this.#audioFormat = openRealtimeAudio(options.rate)
    this.#chunk = new Int16Array((options.rate * CHUNK_MS) / 1000)
    this.#responses = new RealtimeResponses({
      send: (message) => this.#send(message),
      audioFormat: this.#audioFormat,
      clock,
    })
    this.#socket = new VendorSocket(
      {
        url: `${settings.baseUrl.replace(/^http/, 'ws')}/realtime?model=${encodeURIComponent(options.model)}`,
        headers: settings.apiKey === null ? {} : { Authorization: `Bearer ${settings.apiKey}` },
        clock,
        connectMs: CONNECT_MS,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        audioField: 'delta',
        classify: classifyClose,
      },
      {
        open: () => {
          this.#setupTimer = clock.after(SETUP_MS, () =>
            this.#fail(
              new EngineError('vendor_stalled', 'the vendor did not open a session', { retryable: true }),
            ),
          )
        },
        message: (message, audio) => this.#read(message, audio),
        closed: (error) => this.#fail(error),
      },
    )
  }

  write(pcm: Int16Array): void {
    let from = 0
    while (from < pcm.length && !this.#closed) {
      const take = Math.min(pcm.length - from, this.#chunk.length - this.#filled)
      this.#chunk.set(pcm.subarray(from, from + take), this.#filled)
      this.#filled += take
      from += take
      if (this.#filled === this.#chunk.length) this.#append(this.#chunk)
    }
  }

  commit(): void {
    if (this.#filled > 0) this.#append(this.#chunk.subarray(0, this.#filled))
    this.#send({ type: 'input_audio_buffer.commit' })
  }

  respond({ mayUseTools }: { readonly mayUseTools: boolean }, events: SpokenReplyEvents): Cancellable {
    return this.#begin(mayUseTools ? {} : { tool_choice: 'none' }, true, events)
  }

  say(text: string, events: SpokenReplyEvents): Cancellable {
    return this.#begin(phraseResponse(text), false, events)
  }

  truncate(item: string, audioMs: number): void {
    this.#send({
      type: 'conversation.item.truncate',
      item_id: item,
      content_index: 0,
      audio_end_ms: Math.floor(audioMs),
    })
  }

  deleteItem(item: string): void {
    this.#send({ type: 'conversation.item.delete', item_id: item })
  }

  addMessage(role: 'user' | 'assistant' | 'system', text: string): void {
    this.#send(textItem(role, text))
  }

  toolResult(callId: string, output: string): void {
    this.#send(toolOutput(callId, output))
  }

  close(): void {
    if (this.#closed) return
    this.#end()
    this.#responses.close()
    this.#socket.close()
  }

  #begin(body: RealtimeMessage, inBand: boolean, events: SpokenReplyEvents): Cancellable {
    let cancelled = false
    let job: Cancellable | null = null
    // The caller needs its handle before the first event.
    queueMicrotask(() => {
      if (cancelled) return
      if (this.#closed)
        events.failed(new EngineError('closed', 'the connection is gone', { retryable: true }))
      else job = this.#responses.begin(body, inBand, events)
    })
    return {
      cancel: () => {
        cancelled = true
        job?.cancel()
      },
    }
  }

  #append(pcm: Int16Array): void {
    this.#filled = 0
    const message = this.#audioMessages.write(this.#audioFormat.encode(pcm))
    if (this.#ready) {
      this.#socket.send(message)
      return
    }
    this.#pendingAudio.push({ text: Buffer.from(message.text) })
    if (this.#pendingAudio.length > MAX_PENDING_CHUNKS) this.#pendingAudio.shift()
  }

  #send(message: RealtimeMessage): void {
    if (this.#closed) return
    const text = JSON.stringify(message)
    if (this.#ready) {
      this.#socket.send(text)
      return
    }
    this.#pendingMessages.push(text)
    if (this.#pendingMessages.length > MAX_PENDING_MESSAGES) {
      this.#fail(new EngineError('vendor_stalled', 'the vendor does not open a session', { retryable: true }))
    }
  }

  // ---- messages from the vendor

  #read(received: RealtimeMessage, audio: Uint8Array | null): void {
    // A text in the field of the audio that could be base64 is a text.
    const isText = audio !== null && !isAudioDelta(received)
    const message = isText ? { ...received, delta: Buffer.from(audio).toString('base64') } : received
    if (this.#closed || this.#responses.read(message, audio)) return
    const { type } = message
    switch (type) {
      case 'session.created':
        this.#configure()
        return
      case 'session.updated':
        this.#configured()
        return
      case 'input_audio_buffer.speech_started':
        this.#events.callerStarted()
        return
      case 'input_audio_buffer.speech_stopped':
        this.#events.callerStopped()
        return
      case 'input_audio_buffer.committed':
        if (typeof message.item_id === 'string') this.#events.committed(message.item_id)
        return
      case 'conversation.item.input_audio_transcription.completed':
      case 'conversation.item.input_audio_transcription.failed':
        this.#transcript(message)
        return
      case 'rate_limits.updated':
        this.#limits(message.rate_limits)
        return
      case 'error':
        if (isRecord(message.error)) this.#error(message.error)
        return
      default:
    }
  }

  #configure(): void {
    const effort =
      this.#efforts.get(this.#options.model) !== undefined ? null : (this.#realtime.effort ?? null)
    this.#askedEffort = effort !== null
    const settings = { ...this.#realtime, effort }
    this.#socket.send(JSON.stringify(sessionUpdate(this.#options, settings, this.#audioFormat.format)))
  }

  #configured(): void {
    if (this.#ready) return
    this.#ready = true
    this.#setupTimer?.cancel()
    for (const item of historyItems(this.#options.history)) this.#send(item)
    for (const message of this.#pendingAudio.splice(0)) this.#socket.send(message)
    for (const message of this.#pendingMessages.splice(0)) this.#socket.send(message)
  }

  #transcript({ item_id, transcript }: RealtimeMessage): void {
    if (typeof item_id !== 'string') return
    this.#events.transcript(item_id, typeof transcript === 'string' ? transcript.trim() : null)
  }

  #limits(limits: unknown): void {
    if (!Array.isArray(limits)) return
    for (const limit of limits) {
      if (isRecord(limit) && limit.remaining === 0) {
        this.#log.warn(
          { limit: limit.name, resetSeconds: limit.reset_seconds },
          'realtime.rate_limit_exhausted',
        )
      }
    }
  }

  /** Most errors concern a single message: a cancel that came too late, an empty buffer. */
  #error(error: RealtimeMessage): void {
    const { code, event_id } = error
    if (typeof event_id === 'string' && this.#responses.rejected(event_id, error)) return
    if (this.#isEffortRefused(error)) return
    const failure = realtimeError(error, 'the vendor reports')
    if (event_id === SETUP_EVENT_ID || code === 'session_expired' || code === 'invalid_api_key') {
      this.#fail(failure)
      return
    }
    // Without a configured session no error is recoverable.
    if (!this.#ready) this.#fail(failure)
    else this.#log.info({ vendorCode: code ?? error.type }, 'realtime.message_error')
  }

  /** Configures the session without the effort that the server refused, and remembers its model. */
  #isEffortRefused(error: RealtimeMessage): boolean {
    const { model } = this.#options
    if (this.#ready || !this.#askedEffort || !refusesEffort(error)) return false
    this.#efforts.set(model, 'without effort')
    this.#log.warn({ model, parameter: 'reasoning' }, 'realtime.parameter_rejected')
    this.#configure()
    return true
  }

  #fail(error: VendorFailure): void {
    if (this.#closed) return
    this.#end()
    this.#socket.close()
    // The connection fails first, so that handlers of failed replies find it closed.
    this.#events.failed(error)
    this.#responses.fail(error)
  }

  #end(): void {
    this.#closed = true
    this.#setupTimer?.cancel()
  }
}
