import { randomUUID } from 'node:crypto'
import type { TokenCount } from '../../agent/conversation/usage-meter.js'
import { toVendorFailure } from '../../agent/tts/synthesis.js'
import type {
  Cancellable,
  SpeechToSpeech,
  SpeechToSpeechEvents,
  SpeechToSpeechOptions,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  ToolCall,
  VendorFailure,
} from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { isRecord } from '../shared/json.js'
import { samplesOf } from '../shared/pcm-bytes.js'
import { VendorSocket } from '../shared/vendor-socket.js'
import { GEMINI_LIVE } from '../vendor-ids.js'
import {
  classifyClose,
  clientContent,
  historyTurns,
  type LiveMessage,
  type LiveTurn,
  phraseTurn,
  setup,
  soundsOf,
  toolCallsOf,
  toolResponse,
  transcriptionOf,
  turnOf,
  usageOf,
} from './live-messages.js'
import type { GeminiSettings } from './settings.js'

const SOCKET_PATH = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
const CONNECT_MS = 4000
/** Deadline from the open socket to `setupComplete` (ms). */
const SETUP_MS = 4000
/** Audio per message (ms). */
const CHUNK_MS = 40
/** Bounds of audio (10 s) and of messages that wait. */
const MAX_CHUNKS = 250
const MAX_TURNS = 200
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const MAX_BUFFERED_BYTES = 512 * 1024
/** The vendor ends a connection after about ten minutes. */
const MAX_CONNECTION_MS = 10 * 60_000
const FIRST_AUDIO_MS = 2500
/** Time without a further piece after which the words of the caller are complete (ms). */
const WORDS_MS = 400
/** The rate (Hz) of the model's sound. */
const SOUND_RATE = 24_000

/**
 * Opens Gemini's Live API over its WebSocket. Our detector delimits the caller's speech: the model answers when
 * `activityEnd` is sent, so that it is sent only when a reply is wanted.
 * https://ai.google.dev/gemini-api/docs/live-api/get-started-websocket
 * https://ai.google.dev/api/live
 * https://ai.google.dev/gemini-api/docs/models/gemini-3.8-live
 */
export function geminiSpeechToSpeech(
  settings: GeminiSettings,
  deps: { readonly clock: Clock; readonly log: Log },
): SpeechToSpeech {
  return {
    id: GEMINI_LIVE,
    capabilities: {
      turnEnd: false,
      firstAudioDeadlineMs: FIRST_AUDIO_MS,
      maxConnectionMs: MAX_CONNECTION_MS,
    },
    open: (options, events) => new LiveStream(settings, options, events, deps),
  }
}

/** A reply that was asked for. */
interface LiveReply {
  readonly item: string
  readonly events: SpokenReplyEvents
  /** Makes the model speak. */
  readonly start: () => void
  cancelled: boolean
  words: string
  samples: number
}

/** A reply as far as it was heard, for a note about the rest. */
type Spoken = Pick<LiveReply, 'words' | 'samples'>

class LiveStream implements SpeechToSpeechStream {
  readonly #options: SpeechToSpeechOptions
  readonly #events: SpeechToSpeechEvents
  readonly #log: Log
  readonly #clock: Clock
  readonly #socket: VendorSocket
  readonly #chunk: Int16Array
  #filled = 0
  #splitByte = Buffer.alloc(0)
  #setupTimer: Timer | null = null
  #ready = false
  #closed = false
  /** Audio messages that wait: for the session, or for the end of a reply that they would interrupt. */
  readonly #waitingAudio: string[] = []
  /** The vendor hears the caller: `activityStart` was sent and `activityEnd` was not. */
  #active = false
  /** The caller's speech has ended, and audio of it still waits. */
  #commitWaits = false
  /** The words of the caller so far, and the item that they belong to once his speech has ended. */
  #heard: { readonly item: string | null; readonly text: string } = { item: null, text: '' }
  #wordsTimer: Timer | null = null
  /** Messages for the next reply. An earlier one would interrupt a reply in progress. */
  readonly #turns: LiveTurn[] = []
  /** Calls without a result, by id. */
  readonly #calls = new Map<string, string>()
  readonly #results: { readonly id: string; readonly name: string; readonly output: string }[] = []
  /** The reply that the model generates. */
  #reply: LiveReply | null = null
  readonly #queue: LiveReply[] = []
  /** Generations that are over and whose `turnComplete` has not come: it waits for an assumed end of playing. */
  #openTurns = 0
  readonly #spoken = new Map<string, Spoken>()
  /** Tokens that no reply reported yet. The vendor tells them after the end of a reply. */
  #usage: TokenCount | null = null

  constructor(
    settings: GeminiSettings,
    options: SpeechToSpeechOptions,
    events: SpeechToSpeechEvents,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#options = options
    this.#events = events
    this.#log = log
    this.#clock = clock
    this.#chunk = new Int16Array((options.rate * CHUNK_MS) / 1000)
    this.#socket = new VendorSocket(
      {
        url: `${settings.baseUrl}${SOCKET_PATH}?key=${encodeURIComponent(settings.apiKey)}`,
        headers: {},
        clock,
        connectMs: CONNECT_MS,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        binaryMessages: true,
        classify: classifyClose,
      },
      {
        open: () => {
          this.#socket.send(JSON.stringify(setup(options)))
          this.#setupTimer = clock.after(SETUP_MS, () =>
            this.#fail(
              new EngineError('vendor_stalled', 'the vendor did not open a session', { retryable: true }),
            ),
          )
        },
        message: (message) => this.#read(message),
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
    this.#commitWaits = true
    this.#flushAudio()
  }

  respond(_options: { readonly mayUseTools: boolean }, events: SpokenReplyEvents): Cancellable {
    return this.#begin(events, () => this.#askForReply())
  }

  say(text: string, events: SpokenReplyEvents): Cancellable {
    return this.#begin(events, () => this.#sendTurns([phraseTurn(text)], true))
  }

  /** The vendor cannot cut what it said: the next reply is told what was heard of it. */
  truncate(item: string, audioMs: number): void {
    const spoken = this.#spoken.get(item)
    if (spoken === undefined) return
    const part = Math.min(1, (audioMs * SOUND_RATE) / 1000 / Math.max(1, spoken.samples))
    const heard = spoken.words
      .slice(0, Math.floor(spoken.words.length * part))
      .replace(/\s{0,4}\S{0,60}$/, '')
    this.#note(`you were interrupted; of your last words the caller heard only: "${heard}"`)
  }

  deleteItem(item: string): void {
    if (this.#spoken.has(item)) this.#note('the caller did not hear your last words')
  }

  addMessage(role: 'user' | 'assistant' | 'system', text: string): void {
    this.#addTurn(turnOf(role, text))
  }

  toolResult(callId: string, output: string): void {
    const name = this.#calls.get(callId)
    if (name === undefined) return
    this.#calls.delete(callId)
    this.#results.push({ id: callId, name, output })
  }

  close(): void {
    if (this.#closed) return
    this.#end()
    this.#socket.close()
  }

  // ---- replies

  #begin(events: SpokenReplyEvents, start: () => void): Cancellable {
    const reply: LiveReply = { item: randomUUID(), events, start, cancelled: false, words: '', samples: 0 }
    // The caller needs its handle before the first event.
    queueMicrotask(() => {
      if (reply.cancelled) return
      if (this.#closed) {
        events.failed(new EngineError('closed', 'the connection is gone', { retryable: true }))
        return
      }
      this.#queue.push(reply)
      this.#nextReply()
    })
    return {
      cancel: () => {
        reply.cancelled = true
        // The caller's voice may now interrupt it.
        if (this.#reply === reply) this.#flushAudio()
      },
    }
  }

  /** Starts the next reply after the one in progress; the model generates one at a time. */
  #nextReply(): void {
    if (!this.#ready || this.#reply !== null) return
    const reply = this.#queue.shift()
    if (reply === undefined) return
    if (reply.cancelled) {
      this.#nextReply()
      return
    }
    this.#reply = reply
    this.#spoken.set(reply.item, reply)
    reply.start()
  }

  /** Asks for an answer to results of tools, to the caller's speech, or to the messages so far. */
  #askForReply(): void {
    const turns = this.#turns.splice(0)
    if (this.#results.length > 0) {
      if (turns.length > 0) this.#sendTurns(turns, false)
      this.#send(toolResponse(this.#results.splice(0)))
    } else if (this.#active) {
      if (turns.length > 0) this.#sendTurns(turns, false)
      this.#active = false
      this.#send({ realtimeInput: { activityEnd: {} } })
    } else this.#sendTurns(turns, true)
  }

  #ended(calls: readonly ToolCall[]): void {
    const reply = this.#reply
    if (reply === null) return
    this.#reply = null
    this.#reportWords()
    if (!reply.cancelled) {
      const usage = this.#usage
      this.#usage = null
      reply.events.done(calls, usage)
    }
    for (const item of [...this.#spoken.keys()].slice(0, -4)) this.#spoken.delete(item)
    this.#flushAudio()
    this.#nextReply()
  }

  // ---- the caller

  #append(pcm: Int16Array): void {
    this.#filled = 0
    const mimeType = `audio/pcm;rate=${this.#options.rate}`
    const data = Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).toString('base64')
    this.#waitingAudio.push(`{"realtimeInput":{"audio":{"mimeType":"${mimeType}","data":"${data}"}}}`)
    if (this.#waitingAudio.length > MAX_CHUNKS) this.#waitingAudio.shift()
    this.#flushAudio()
  }

  /** Sends the caller's audio, unless it would interrupt a reply that was not stopped. */
  #flushAudio(): void {
    if (!this.#ready || (this.#reply !== null && !this.#reply.cancelled)) return
    if (this.#waitingAudio.length > 0 && !this.#active) {
      this.#active = true
      this.#reportWords()
      this.#send({ realtimeInput: { activityStart: {} } })
    }
    for (const message of this.#waitingAudio.splice(0)) this.#socket.send(message)
    if (!this.#commitWaits) return
    this.#commitWaits = false
    this.#reportWords()
    this.#heard = { item: randomUUID(), text: this.#heard.text }
    this.#events.committed(this.#heard.item ?? '')
    if (this.#heard.text !== '') this.#armWords()
  }

  /** Takes a piece of the caller's words; the vendor does not say which one is the last. */
  #transcribed(piece: string): void {
    if (piece === '') return
    this.#heard = { ...this.#heard, text: this.#heard.text + piece }
    if (this.#heard.item !== null) this.#armWords()
  }

  #armWords(): void {
    this.#wordsTimer?.cancel()
    this.#wordsTimer = this.#clock.after(WORDS_MS, () => this.#reportWords())
  }

  /** Reports the words of the speech that has ended, null without any. */
  #reportWords(): void {
    this.#wordsTimer?.cancel()
    const { item, text } = this.#heard
    if (item === null) return
    this.#heard = { item: null, text: '' }
    this.#events.transcript(item, text === '' ? null : text.trim())
  }

  // ---- messages to the vendor

  #send(message: LiveMessage): void {
    if (!this.#closed) this.#socket.send(JSON.stringify(message))
  }

  #sendTurns(turns: readonly LiveTurn[], turnComplete: boolean): void {
    this.#send(clientContent(turns, turnComplete))
  }

  #note(text: string): void {
    this.#addTurn(turnOf('system', text))
  }

  #addTurn(turn: LiveTurn): void {
    this.#turns.push(turn)
    if (this.#turns.length > MAX_TURNS) this.#turns.shift()
  }

  // ---- messages from the vendor

  #read(message: LiveMessage): void {
    if (this.#closed) return
    if ('setupComplete' in message) this.#configured()
    this.#usage = added(this.#usage, usageOf(message))
    if (isRecord(message.serverContent)) this.#content(message.serverContent)
    if ('toolCall' in message) this.#called(message)
    if ('goAway' in message) this.#log.info({ goAway: message.goAway }, 'realtime.connection_ends')
  }

  #called(message: LiveMessage): void {
    let calls: readonly ToolCall[]
    try {
      calls = toolCallsOf(message)
    } catch (error) {
      const reply = this.#reply
      this.#reply = null
      if (reply?.cancelled === false) reply.events.failed(toVendorFailure(error))
      this.#nextReply()
      return
    }
    for (const { id, name } of calls) this.#calls.set(id, name)
    this.#ended(calls)
  }

  #configured(): void {
    if (this.#ready) return
    this.#ready = true
    this.#setupTimer?.cancel()
    const history = historyTurns(this.#options.history)
    if (history.length > 0) this.#sendTurns(history, false)
    this.#flushAudio()
    this.#nextReply()
  }

  #content(content: LiveMessage): void {
    this.#transcribed(transcriptionOf(content, 'inputTranscription'))
    const reply = this.#reply
    if (reply !== null) {
      const words = transcriptionOf(content, 'outputTranscription')
      reply.words += words
      if (words !== '' && !reply.cancelled) reply.events.words(reply.item, words)
      for (const { data, rate } of soundsOf(content)) this.#sound(reply, data, rate)
    }
    if (content.generationComplete === true || content.interrupted === true) {
      this.#openTurns++
      this.#ended([])
    }
    if (content.turnComplete !== true) return
    if (this.#openTurns > 0) this.#openTurns--
    // A turn without sound may end without a generation.
    else this.#ended([])
  }

  #sound(reply: LiveReply, data: string, rate: number): void {
    if (rate !== SOUND_RATE) {
      this.#fail(
        new EngineError('vendor_failed', `the vendor sent audio at ${rate} Hz, which is not supported`),
      )
      return
    }
    const piece = Buffer.from(data, 'base64')
    const bytes = this.#splitByte.length === 0 ? piece : Buffer.concat([this.#splitByte, piece])
    const whole = bytes.length - (bytes.length % 2)
    this.#splitByte = Buffer.from(bytes.subarray(whole))
    const pcm = samplesOf(bytes.subarray(0, whole))
    reply.samples += pcm.length
    if (pcm.length > 0 && !reply.cancelled) reply.events.audio(reply.item, pcm, SOUND_RATE)
  }

  #fail(error: VendorFailure): void {
    if (this.#closed) return
    const asked = [...(this.#reply === null ? [] : [this.#reply]), ...this.#queue]
    this.#end()
    this.#socket.close()
    // The connection fails first, so that handlers of failed replies find it closed.
    this.#events.failed(error)
    for (const { cancelled, events } of asked) if (!cancelled) events.failed(error)
  }

  #end(): void {
    this.#closed = true
    this.#reply = null
    this.#queue.length = 0
    this.#setupTimer?.cancel()
    this.#wordsTimer?.cancel()
  }
}

function added(a: TokenCount | null, b: TokenCount | null): TokenCount | null {
  if (a === null || b === null) return a ?? b
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    sound: {
      promptTokens: (a.sound?.promptTokens ?? 0) + (b.sound?.promptTokens ?? 0),
      completionTokens: (a.sound?.completionTokens ?? 0) + (b.sound?.completionTokens ?? 0),
      cachedTokens: (a.sound?.cachedTokens ?? 0) + (b.sound?.cachedTokens ?? 0),
    },
  }
}
