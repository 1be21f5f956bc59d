import type { Cancellable, SpeakEvents, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import { samplesOf } from './pcm-bytes.js'
import { type FailureClass, VendorSocket } from './vendor-socket.js'

/** Receives the contents of a vendor's messages; a null `context` is the connection's only one. */
export interface SynthesisReader {
  /** Receives 16-bit little-endian PCM at the requested rate; a chunk may end within a sample. */
  audio(context: string | null, bytes: Uint8Array): void
  /** Receives the next word of the context's text, as written there, and its time in the audio (ms). */
  word(context: string | null, word: string, atMs: number): void
  /** Returns the audio received so far (ms), because some vendors count times from each message. */
  receivedMs(context: string | null): number
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
  /** Returns the reason why the vendor would reject the request, or null. */
  validate(request: SpeakRequest): string | null
  begin(context: string, request: SpeakRequest): readonly string[]
  /** Returns the message that cancels one context, or null when only closing the connection does. */
  cancel(context: string): string | null
  /** Keep-alive of an idle connection, or null when the protocol has none. */
  readonly keepAlive: { readonly afterMs: number; readonly message: string } | null
  /** Time (ms) after which an unused connection is closed. */
  readonly idleMs: number
  classify(code: number, reason: string): FailureClass
  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader): void
}

const CONNECT_MS = 4000
const MAX_BUFFERED_BYTES = 256 * 1024
/** Alignments of long texts come in messages of several megabytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Time (ms) after which a cancelled text counts as done even without a report. */
const CANCEL_TIMEOUT_MS = 10_000
/** Connections of one thread to one vendor; beyond them the conversation fails over. */
const MAX_CONNECTIONS = 256

/**
 * Opens TTS over WebSockets that stay open between sentences and are shared by the calls of a thread. Where a
 * vendor cannot cancel a text, its connection is closed and another one is opened in advance.
 */
export function socketTextToSpeech(
  dialect: SynthesisDialect,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  const pool = new SynthesisConnectionPool(dialect, clock, log)
  return {
    id: dialect.vendor,
    firstAudioDeadlineMs: dialect.firstAudioDeadlineMs,
    speak: (request, events) => pool.speak(request, events),
  }
}

class SynthesisConnectionPool {
  readonly #dialect: SynthesisDialect
  readonly #clock: Clock
  readonly #log: Log
  readonly #connections = new Set<SynthesisConnection>()
  #contexts = 0

  constructor(dialect: SynthesisDialect, clock: Clock, log: Log) {
    this.#dialect = dialect
    this.#clock = clock
    this.#log = log
  }

  speak(request: SpeakRequest, events: SpeakEvents): Cancellable {
    const problem = this.#dialect.validate(request)
    if (problem !== null) throw new EngineError('vendor_rejected', problem)
    const url = this.#dialect.url(request)
    const connection = this.#free(url) ?? this.#open(url)
    if (connection === null) {
      throw new EngineError('vendor_rate_limited', 'too many texts are being synthesized at once', {
        retryable: true,
      })
    }
    const context = `c${++this.#contexts}`
    connection.begin(context, request, events)
    return {
      cancel: () => {
        // The next sentence should not wait for a handshake.
        if (connection.cancel(context) && this.#free(url) === null) this.#open(url)
      },
    }
  }

  #free(url: string): SynthesisConnection | null {
    for (const connection of this.#connections)
      if (connection.url === url && connection.hasRoom) return connection
    return null
  }

  #open(url: string): SynthesisConnection | null {
    if (this.#connections.size >= MAX_CONNECTIONS) return null
    const connection: SynthesisConnection = new SynthesisConnection(
      url,
      this.#dialect,
      this.#clock,
      this.#log,
      () => {
        this.#connections.delete(connection)
      },
    )
    this.#connections.add(connection)
    return connection
  }
}

interface Context {
  readonly id: string
  readonly events: SpeakEvents
  readonly rate: SessionRate
  readonly text: string
  /** First byte of a split sample. */
  splitByte: number | null
  samples: number
  /** Offset in the text up to which words were reported. */
  reportedTo: number
}

class SynthesisConnection {
  readonly url: string
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

  constructor(url: string, dialect: SynthesisDialect, clock: Clock, log: Log, onClosed: () => void) {
    this.url = url
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
        classify: (code, reason) => dialect.classify(code, reason),
      },
      {
        open: () => {
          for (const message of this.#pending.splice(0)) this.#socket.send(message)
        },
        message: (message) => dialect.read(message, this.#reader),
        closed: (error) => {
          if (this.#contexts.size === 0) log.info({ code: error.code }, 'tts.idle_connection_closed')
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

  begin(id: string, request: SpeakRequest, events: SpeakEvents): void {
    this.#lastUsedMs = this.#clock.now()
    this.#contexts.set(id, {
      id,
      events,
      rate: request.rate,
      text: request.text,
      splitByte: null,
      samples: 0,
      reportedTo: 0,
    })
    for (const message of this.#dialect.begin(id, request)) {
      if (this.#socket.isOpen) this.#socket.send(message)
      else this.#pending.push(message)
    }
  }

  /** Cancels a context; returns false when it was already done. */
  cancel(id: string): boolean {
    if (!this.#contexts.delete(id)) return false
    this.#lastUsedMs = this.#clock.now()
    const message = this.#dialect.cancel(id)
    if (message === null || !this.#socket.isOpen) this.#close()
    else {
      this.#socket.send(message)
      if (this.#dialect.countsCancelled) this.#cancelled.set(id, this.#clock.now() + CANCEL_TIMEOUT_MS)
    }
    return true
  }

  readonly #reader: SynthesisReader = {
    audio: (id, bytes) => {
      const context = this.#find(id)
      if (context === undefined || bytes.length === 0) return
      const pcm = wholeSamples(context, bytes)
      context.samples += pcm.length
      if (pcm.length > 0) context.events.audio(pcm, context.rate)
    },
    word: (id, word, atMs) => {
      const context = this.#find(id)
      if (context === undefined) return
      const at = context.text.indexOf(word, context.reportedTo)
      // The vendor normalised the word, so the text does not contain it.
      if (at < 0) return
      context.reportedTo = at + word.length
      context.events.word(at, word.length, atMs)
    },
    receivedMs: (id) => {
      const context = this.#find(id)
      return context === undefined ? 0 : (context.samples * 1000) / context.rate
    },
    done: (id) => {
      if (id !== null) this.#cancelled.delete(id)
      const context = this.#find(id)
      if (context === undefined) return
      this.#remove(context)
      if (context.samples > 0) context.events.done()
      else
        context.events.failed(
          new EngineError('vendor_failed', 'the vendor sent no audio', { retryable: true }),
        )
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
      context.events.failed(error)
    },
  }

  #find(id: string | null): Context | undefined {
    return id === null ? this.#contexts.values().next().value : this.#contexts.get(id)
  }

  #remove(context: Context): void {
    this.#contexts.delete(context.id)
    this.#lastUsedMs = this.#clock.now()
  }

  /** Sends keep-alives and closes an unused connection. */
  #scheduleIdleCheck(): void {
    const { keepAlive, idleMs } = this.#dialect
    const everyMs = Math.min(keepAlive?.afterMs ?? idleMs, idleMs)
    this.#idleTimer = this.#clock.after(everyMs, () => {
      if (this.#contexts.size === 0 && this.#clock.now() - this.#lastUsedMs >= idleMs - 1) {
        this.#close()
        return
      }
      if (keepAlive !== null) this.#socket.send(keepAlive.message)
      this.#scheduleIdleCheck()
    })
  }

  #close(): void {
    this.#socket.close()
    this.#end(new EngineError('closed', 'the connection was closed', { retryable: true }))
  }

  #end(error: EngineError): void {
    if (this.#closed) return
    this.#closed = true
    this.#idleTimer?.cancel()
    this.#onClosed()
    const open = [...this.#contexts.values()]
    this.#contexts.clear()
    for (const context of open) context.events.failed(error)
  }
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
