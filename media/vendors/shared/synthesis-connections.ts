import type { Cancellable, SpeakEvents, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { Scope } from '../../base/scope.js'
import { samplesOf } from './pcm-bytes.js'
import { type FailureClass, VendorSocket } from './vendor-socket.js'

/** Receives the contents of a vendor's messages; a null `context` is the connection's only one. */
export interface SynthesisReader {
  /** Takes 16-bit little-endian PCM at the requested rate, borrowed; a chunk may end within a sample. */
  audio(context: string | null, bytes: Uint8Array): void
  /** Receives the next word of the text, as written there, and its time in the text's audio (ms). */
  word(context: string | null, word: string, atMs: number): void
  /** Receives a word like `word`, with its time in the audio of the context, which may have had other texts. */
  wordInContext(context: string, word: string, atMs: number): void
  /** Returns the audio of the text received so far (ms), because some vendors count times from each message. */
  receivedMs(context: string | null): number
  /** Reports that audio of this many more characters of the text has come, white space not counted. */
  spoken(context: string, characters: number): void
  /** Reports the end of the text; the context stays open for the next one. */
  textDone(context: string): void
  /** Reports the end of the context. */
  done(context: string | null): void
  /** Fails one context, or with `context` undefined the connection and all its contexts. */
  failed(context: string | null | undefined, error: EngineError): void
}

/** One vendor's wire format for TTS over a WebSocket. Encodes and decodes messages; owns no socket. */
export interface SynthesisDialect {
  readonly vendor: string
  readonly firstAudioDeadlineMs: number
  /** Returns the URL; requests with equal URLs may share a connection. */
  url(request: SpeakRequest): string
  readonly headers: Readonly<Record<string, string>>
  /** Texts that one connection can synthesize at the same time. */
  readonly maxContexts: number
  /** A cancelled text counts against `maxContexts` until the vendor reports it done. */
  readonly countsCancelled?: boolean
  /** Each call has its own connections. */
  readonly connectionPerCall?: boolean
  /** Returns the reason why the vendor would reject the request, or null. */
  validate(request: SpeakRequest): string | null
  /** Returns the messages for a context with one text. */
  begin(context: string, request: SpeakRequest): readonly string[]
  /** How a context speaks the texts of a reply, one after the other. Absent: each text has its own context. */
  readonly continuation?: Continuation
  /** Returns the message that cancels one context, or null when only closing the connection does. */
  cancel(context: string): string | null
  /** Keep-alive of an idle connection, or null when the protocol has none. */
  readonly keepAlive: { readonly afterMs: number; readonly message: string } | null
  /** Time (ms) after which an unused connection is closed. */
  readonly idleMs: number
  classify(code: number, reason: string): FailureClass
  /** Name of the field that holds the audio of a message as base64. */
  readonly audioField: string
  /** `audio` holds the bytes of that field, unless they are left in it. */
  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader, audio: Uint8Array | null): void
}

export interface Continuation {
  /** Time (ms) after the audio of a text after which the vendor has dropped the context. */
  readonly expiresMs: number
  /** Returns the messages that open the context and speak its first text. */
  begin(context: string, request: SpeakRequest): readonly string[]
  /** Returns the messages that speak a further text with the same voice, language and speed. */
  next(context: string, request: SpeakRequest): readonly string[]
  /** Returns the message that ends the context after its texts so far; the vendor then reports `done`. */
  finish(context: string, request: SpeakRequest): string
}

const CONNECT_MS = 4000
const MAX_BUFFERED_BYTES = 256 * 1024
/** Alignments of long texts come in messages of several megabytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Time (ms) after which a cancelled text counts as done even without a report. */
const CANCEL_TIMEOUT_MS = 10_000
/** Connections of one thread to one vendor; beyond them the conversation fails over. */
const MAX_CONNECTIONS = 1024
/**
 * Time (ms) without audio after which a text of an open context may be over unnoticed. The context is then
 * finished, because the vendor reports that end in any case.
 */
const QUIET_MS = 400

/**
 * Opens TTS over WebSockets that stay open between sentences and are shared by the calls of a thread, unless
 * the vendor wants one per call. The texts of a reply share a context where the vendor has continuations. Where
 * a vendor cannot cancel a text, its connection is closed and another one is opened in advance.
 */
export function socketTextToSpeech(
  dialect: SynthesisDialect,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  const pool = new SynthesisConnectionPool(dialect, clock, log)
  const { continuation } = dialect
  return {
    id: dialect.vendor,
    firstAudioDeadlineMs: dialect.firstAudioDeadlineMs,
    followsAtOnce: continuation !== undefined && continuation.expiresMs < LASTS_A_SENTENCE_MS,
    speak: (request, events) => pool.speak(request, events),
  }
}

/** A context that lasts longer than this (ms) outlives the playing of a sentence. */
const LASTS_A_SENTENCE_MS = 60_000

class SynthesisConnectionPool {
  readonly #dialect: SynthesisDialect
  readonly #clock: Clock
  readonly #log: Log
  readonly #connections = new Set<SynthesisConnection>()
  /** The open context of each reply. */
  readonly #replies = new WeakMap<Scope, Context>()
  #contexts = 0

  constructor(dialect: SynthesisDialect, clock: Clock, log: Log) {
    this.#dialect = dialect
    this.#clock = clock
    this.#log = log
  }

  speak(request: SpeakRequest, events: SpeakEvents): Cancellable {
    const problem = this.#dialect.validate(request)
    if (problem !== null) throw new EngineError('vendor_rejected', problem)
    const open = request.reply && this.#replies.get(request.reply)
    const context = open?.connection.next(open, request, events) ? open : this.#begin(request, events)
    return {
      cancel: () => {
        // The next sentence should not wait for a handshake.
        if (context.connection.cancel(context, events) && this.#free(request) === null) this.#open(request)
      },
    }
  }

  #begin(request: SpeakRequest, events: SpeakEvents): Context {
    const connection = this.#free(request) ?? this.#open(request)
    if (connection === null) {
      throw new EngineError('vendor_rate_limited', 'too many texts are being synthesized at once', {
        retryable: true,
      })
    }
    const { reply } = request
    const before = reply && this.#replies.get(reply)
    before?.connection.finish(before)
    const continues = this.#dialect.continuation !== undefined && reply?.closed === false
    const context = connection.begin(`c${++this.#contexts}`, request, events, continues)
    if (continues) {
      if (before === undefined) reply.own(() => this.#endReply(reply))
      this.#replies.set(reply, context)
    }
    return context
  }

  #endReply(reply: Scope): void {
    const context = this.#replies.get(reply)
    context?.connection.finish(context)
  }

  #free(request: SpeakRequest): SynthesisConnection | null {
    const url = this.#dialect.url(request)
    const call = this.#callOf(request)
    for (const connection of this.#connections)
      if (connection.url === url && connection.call === call && connection.hasRoom) return connection
    return null
  }

  #open(request: SpeakRequest): SynthesisConnection | null {
    const call = this.#callOf(request)
    if (this.#connections.size >= MAX_CONNECTIONS || call?.closed) return null
    const connection: SynthesisConnection = new SynthesisConnection(
      this.#dialect.url(request),
      call,
      this.#dialect,
      this.#clock,
      this.#log,
      () => {
        forget?.()
        this.#connections.delete(connection)
      },
    )
    const forget = call?.own(() => connection.close())
    this.#connections.add(connection)
    return connection
  }

  #callOf({ call }: SpeakRequest): Scope | null {
    return this.#dialect.connectionPerCall ? (call ?? null) : null
  }
}

/** A text that is being spoken. */
interface Text {
  readonly text: string
  readonly events: SpeakEvents
  samples: number
  /** Offset in the text up to which words were reported. */
  reportedTo: number
  /** Characters whose audio has not come, white space not counted. */
  unspoken: number
  /** Time (ms) in the context from which the vendor counts this text's words; null: no word came yet. */
  originMs: number | null
}

interface Context {
  readonly id: string
  readonly connection: SynthesisConnection
  readonly request: SpeakRequest
  /** Null between two texts of a reply. */
  text: Text | null
  /** No further text follows, and the vendor knows. */
  finished: boolean
  /** First byte of a split sample. */
  splitByte: number | null
  /** Samples of the earlier texts. */
  samplesBefore: number
  /** Audio that came between two texts: the start of the next one. */
  readonly early: Int16Array[]
  lastAudioMs: number
  /** Runs while a text of an unfinished context is spoken. */
  quiet: Timer | null
}

class SynthesisConnection {
  readonly url: string
  /** The call that has this connection for itself. Null: calls share it. */
  readonly call: Scope | null
  readonly #dialect: SynthesisDialect
  readonly #clock: Clock
  readonly #socket: VendorSocket
  readonly #onClosed: () => void
  readonly #contexts = new Map<string, Context>()
  /** Cancelled contexts and the time (ms) until which each counts. */
  readonly #cancelled = new Map<string, number>()
  /** Messages kept until the socket is open. */
  readonly #pending: string[] = []
  #idleTimer: Timer | null = null
  #lastUsedMs: number
  #closed = false

  constructor(
    url: string,
    call: Scope | null,
    dialect: SynthesisDialect,
    clock: Clock,
    log: Log,
    onClosed: () => void,
  ) {
    this.url = url
    this.call = call
    this.#dialect = dialect
    this.#clock = clock
    this.#onClosed = onClosed
    this.#lastUsedMs = clock.now()
    this.#socket = new VendorSocket(
      {
        url,
        headers: dialect.headers,
        clock,
        connectMs: CONNECT_MS,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        audioField: dialect.audioField,
        classify: (code, reason) => dialect.classify(code, reason),
      },
      {
        open: () => {
          for (const message of this.#pending.splice(0)) this.#socket.send(message)
        },
        message: (message, audio) => dialect.read(message, this.#reader, audio),
        closed: (error) => {
          if (!this.#speaking) log.info({ code: error.code }, 'tts.idle_connection_closed')
          this.#end(error)
        },
      },
    )
    this.#scheduleIdleCheck()
  }

  get hasRoom(): boolean {
    const now = this.#clock.now()
    for (const [id, untilMs] of this.#cancelled) if (untilMs <= now) this.#cancelled.delete(id)
    return !this.#closed && this.#contexts.size + this.#cancelled.size < this.#dialect.maxContexts
  }

  /** Begins a context with its first text; with `continues` further texts may follow. */
  begin(id: string, request: SpeakRequest, events: SpeakEvents, continues: boolean): Context {
    const context: Context = {
      id,
      connection: this,
      request,
      text: null,
      finished: !continues,
      splitByte: null,
      samplesBefore: 0,
      early: [],
      lastAudioMs: 0,
      quiet: null,
    }
    this.#contexts.set(id, context)
    const messages = continues ? this.#dialect.continuation?.begin(id, request) : undefined
    this.#speak(context, request, events, messages ?? this.#dialect.begin(id, request))
    return context
  }

  /** Speaks a further text. Returns false when the context cannot speak it. */
  next(context: Context, request: SpeakRequest, events: SpeakEvents): boolean {
    const { continuation } = this.#dialect
    if (continuation === undefined || context.finished || context.text !== null) return false
    if (this.#contexts.get(context.id) !== context || !sameVoice(context.request, request)) return false
    if (this.#clock.now() - context.lastAudioMs >= continuation.expiresMs) {
      // The vendor no longer knows the context, so there is nothing to finish.
      this.#remove(context)
      return false
    }
    this.#speak(context, request, events, continuation.next(context.id, request))
    if (context.text !== null)
      for (const pcm of context.early.splice(0)) this.#give(context, context.text, pcm)
    return true
  }

  /** Ends a context after its texts so far. */
  finish(context: Context): void {
    const { continuation, countsCancelled } = this.#dialect
    if (continuation === undefined || context.finished || !this.#contexts.has(context.id)) return
    context.finished = true
    context.quiet?.cancel()
    const idle = context.text === null
    if (idle) {
      this.#remove(context)
      if (this.#clock.now() - context.lastAudioMs >= continuation.expiresMs) return
      if (countsCancelled) this.#cancelled.set(context.id, this.#clock.now() + CANCEL_TIMEOUT_MS)
    }
    this.#send(continuation.finish(context.id, context.request))
  }

  /** Cancels the text of a context, and the context; returns false when the text was already done. */
  cancel(context: Context, events: SpeakEvents): boolean {
    const { id } = context
    if (this.#contexts.get(id) !== context || context.text?.events !== events) return false
    this.#remove(context)
    const message = this.#dialect.cancel(id)
    if (message === null || !this.#socket.isOpen) this.close()
    else {
      this.#socket.send(message)
      if (this.#dialect.countsCancelled) this.#cancelled.set(id, this.#clock.now() + CANCEL_TIMEOUT_MS)
    }
    return true
  }

  close(): void {
    this.#socket.close()
    this.#end(new EngineError('closed', 'the connection was closed', { retryable: true }))
  }

  get #speaking(): boolean {
    for (const { text } of this.#contexts.values()) if (text !== null) return true
    return false
  }

  #speak(context: Context, { text }: SpeakRequest, events: SpeakEvents, messages: readonly string[]): void {
    this.#lastUsedMs = this.#clock.now()
    context.text = {
      text,
      events,
      samples: 0,
      reportedTo: 0,
      unspoken: text.replaceAll(/\s/g, '').length,
      originMs: null,
    }
    for (const message of messages) this.#send(message)
  }

  #send(message: string): void {
    if (this.#socket.isOpen) this.#socket.send(message)
    else this.#pending.push(message)
  }

  readonly #reader: SynthesisReader = {
    audio: (id, bytes) => {
      const context = this.#find(id)
      if (context === undefined || bytes.length === 0) return
      const pcm = wholeSamples(context, bytes)
      context.lastAudioMs = this.#clock.now()
      if (context.text !== null) this.#give(context, context.text, pcm)
      else if (context.early.length < MAX_EARLY) context.early.push(pcm)
    },
    word: (id, word, atMs) => {
      const text = this.#find(id)?.text
      if (text) reportWord(text, word, atMs)
    },
    wordInContext: (id, word, atMs) => {
      const context = this.#contexts.get(id)
      if (!context?.text) return
      // Documents do not say whether the times go on or begin anew with each text. The first word of a text tells.
      const beforeMs = (context.samplesBefore * 1000) / context.request.rate
      context.text.originMs ??= atMs >= beforeMs ? beforeMs : 0
      reportWord(context.text, word, atMs - context.text.originMs)
    },
    receivedMs: (id) => {
      const context = this.#find(id)
      return context?.text ? (context.text.samples * 1000) / context.request.rate : 0
    },
    spoken: (id, characters) => {
      const context = this.#contexts.get(id)
      if (!context?.text) return
      context.text.unspoken -= characters
      if (context.text.unspoken <= 0) this.#reader.textDone(id)
    },
    textDone: (id) => {
      const context = this.#contexts.get(id)
      // The end of a finished context follows, perhaps after more audio.
      if (!context?.text || context.finished) return
      this.#endText(context)
    },
    done: (id) => {
      if (id !== null) this.#cancelled.delete(id)
      const context = this.#find(id)
      if (context === undefined) return
      this.#remove(context)
      this.#endText(context)
    },
    failed: (id, error) => {
      if (id === undefined) {
        this.#socket.close()
        this.#end(error)
        return
      }
      const context = this.#find(id)
      if (context === undefined) return
      this.#remove(context)
      context.text?.events.failed(error)
    },
  }

  #give(context: Context, text: Text, pcm: Int16Array): void {
    if (pcm.length === 0) return
    text.samples += pcm.length
    if (!context.finished) this.#watch(context)
    text.events.audio(pcm, context.request.rate)
  }

  /** Finishes a context whose text gets no more audio without a report of its end. */
  #watch(context: Context): void {
    context.quiet ??= this.#clock.after(QUIET_MS, () => {
      context.quiet = null
      if (context.text === null || context.finished) return
      if (this.#clock.now() - context.lastAudioMs < QUIET_MS) this.#watch(context)
      else this.finish(context)
    })
  }

  #endText(context: Context): void {
    const { text } = context
    if (text === null) return
    context.text = null
    context.samplesBefore += text.samples
    context.quiet?.cancel()
    context.quiet = null
    this.#lastUsedMs = this.#clock.now()
    if (text.samples > 0) text.events.done()
    else text.events.failed(new EngineError('vendor_failed', 'the vendor sent no audio', { retryable: true }))
  }

  #find(id: string | null): Context | undefined {
    return id === null ? this.#contexts.values().next().value : this.#contexts.get(id)
  }

  #remove(context: Context): void {
    this.#contexts.delete(context.id)
    context.quiet?.cancel()
    context.quiet = null
    this.#lastUsedMs = this.#clock.now()
  }

  /** Sends keep-alives and closes an unused connection. */
  #scheduleIdleCheck(): void {
    const { keepAlive, idleMs } = this.#dialect
    const everyMs = Math.min(keepAlive?.afterMs ?? idleMs, idleMs)
    this.#idleTimer = this.#clock.after(everyMs, () => {
      if (this.#contexts.size === 0 && this.#clock.now() - this.#lastUsedMs >= idleMs - 1) {
        this.close()
        return
      }
      if (keepAlive !== null) this.#socket.send(keepAlive.message)
      this.#scheduleIdleCheck()
    })
  }

  #end(error: EngineError): void {
    if (this.#closed) return
    this.#closed = true
    this.#idleTimer?.cancel()
    this.#onClosed()
    const open = [...this.#contexts.values()]
    for (const context of open) this.#remove(context)
    for (const { text } of open) text?.events.failed(error)
  }
}

/** Pieces of audio kept between two texts. */
const MAX_EARLY = 50

/** Tells whether one context may speak both texts: vendors fix everything but the text with the first one. */
function sameVoice(a: SpeakRequest, b: SpeakRequest): boolean {
  return (
    a.voice === b.voice &&
    a.model === b.model &&
    a.language === b.language &&
    a.pace === b.pace &&
    a.rate === b.rate
  )
}

const LETTER_AT_END = /[\p{L}\p{M}\p{N}]$/u

function reportWord(text: Text, word: string, atMs: number): void {
  const at = text.text.indexOf(word, text.reportedTo)
  // The vendor normalised the word, so the text does not contain it.
  if (at < 0) return
  text.reportedTo = at + word.length
  // The rest of a word whose start came in the message before.
  if (LETTER_AT_END.test(text.text.slice(0, at))) return
  text.events.word(at, word.length, atMs)
}

/** Returns the whole samples of a chunk and keeps a split one for the next chunk. */
function wholeSamples(context: Context, bytes: Uint8Array): Int16Array {
  let whole = bytes
  if (context.splitByte !== null) {
    whole = new Uint8Array(bytes.length + 1)
    whole[0] = context.splitByte
    whole.set(bytes, 1)
  }
  context.splitByte = whole.length % 2 === 1 ? (whole.at(-1) ?? null) : null
  return samplesOf(whole)
}
