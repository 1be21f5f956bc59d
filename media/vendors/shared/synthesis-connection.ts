import type { SpeakEvents, SpeakRequest } from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { Scope } from '../../base/scope.js'
import { samplesOf } from './pcm-bytes.js'
import type { SynthesisDialect, SynthesisReader } from './synthesis-dialect.js'
import { VendorSocket } from './vendor-socket.js'

const CONNECT_MS = 4000
const MAX_BUFFERED_BYTES = 256 * 1024
/** Alignments of long texts come in messages of several megabytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Time (ms) after which a cancelled text counts as done even without a report. */
const CANCEL_TIMEOUT_MS = 10_000
/**
 * Time (ms) without audio after which a text of an open context may be over unnoticed. The context is then
 * finished, because the vendor reports that end in any case.
 */
const QUIET_MS = 400

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

export interface Context {
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

/** One WebSocket to a vendor and the contexts that speak over it. */
export class SynthesisConnection {
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
