import type { Clock, Timer } from '../../../base/clock.js'
import { EngineError } from '../../../base/errors.js'
import type { SessionRate } from '../../../base/frame.js'
import type { Log } from '../../../base/log.js'
import type { Cancellable, SpeakEvents, SpeakRequest, TextToSpeech } from '../../vendor-ports.js'
import { samplesOf } from './pcm-bytes.js'
import { type FailureClass, VendorSocket } from './vendor-socket.js'

/** What a dialect reads out of the vendor's messages; `context` null means the connection's only one. */
export interface SynthesisReader {
  /** PCM, 16 bits little-endian, at the rate of the request; a sample may be cut. */
  audio(context: string | null, bytes: Uint8Array): void
  /** The next word of the context's text, as written there; `atMs` of this context's sound. */
  word(context: string | null, word: string, atMs: number): void
  /** Ms of sound received so far of a context: some vendors count times from each piece. */
  receivedMs(context: string | null): number
  done(context: string | null): void
  /** `context` undefined: everything on this connection failed with it. */
  failed(context: string | null | undefined, error: EngineError): void
}

/** One vendor's wire format for speech over a socket. Makes and reads messages, owns no socket. */
export interface SynthesisDialect {
  readonly vendor: string
  readonly firstAudioDeadlineMs: number
  /** Requests with equal addresses may share a connection. */
  url(request: SpeakRequest): string
  readonly headers: Readonly<Record<string, string>>
  /** Texts that may be in the making on one connection at once. */
  readonly maxContexts: number
  /** A stopped text counts among them until the vendor says that it is done. */
  readonly countsCancelled?: boolean
  /** Refuses what the vendor would refuse less clearly; null when it is fine. */
  validate(request: SpeakRequest): string | null
  begin(context: string, request: SpeakRequest): readonly string[]
  /** What stops one context, or null where only closing the connection does. */
  cancel(context: string): string | null
  /** Keeps an idle connection; null where nothing does. */
  readonly keepAlive: { readonly afterMs: number; readonly message: string } | null
  /** An unused connection is closed after this. */
  readonly idleMs: number
  classify(code: number, reason: string): FailureClass
  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader): void
}

const CONNECT_MS = 4000
const MAX_WAITING_BYTES = 256 * 1024
/** Alignments of long texts come in messages of megabytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** A vendor that has not told by then that a stopped text is done does not tell. */
const STOPPED_MS = 10_000
/** Connections of one thread to one vendor; with more texts at once the conversation fails over. */
const MAX_LINKS = 256

/**
 * Synthesis over sockets that stay open between sentences and are shared by the calls of one thread.
 * Where a vendor cannot stop a text, its connection is closed and another is opened ahead of need.
 */
export function socketTextToSpeech(
  dialect: SynthesisDialect,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): TextToSpeech {
  const links = new SpeechLinks(dialect, clock, log)
  return {
    id: dialect.vendor,
    firstAudioDeadlineMs: dialect.firstAudioDeadlineMs,
    speak: (request, events) => links.speak(request, events),
  }
}

class SpeechLinks {
  readonly #dialect: SynthesisDialect
  readonly #clock: Clock
  readonly #log: Log
  readonly #links = new Set<SpeechLink>()
  #contexts = 0

  constructor(dialect: SynthesisDialect, clock: Clock, log: Log) {
    this.#dialect = dialect
    this.#clock = clock
    this.#log = log
  }

  speak(request: SpeakRequest, events: SpeakEvents): Cancellable {
    const refusal = this.#dialect.validate(request)
    if (refusal !== null) throw new EngineError('vendor_rejected', refusal)
    const url = this.#dialect.url(request)
    const link = this.#free(url) ?? this.#open(url)
    if (link === null) {
      throw new EngineError('vendor_rate_limited', 'too many texts are being spoken at once', {
        retryable: true,
      })
    }
    const context = `c${++this.#contexts}`
    link.begin(context, request, events)
    return {
      cancel: () => {
        // The next sentence must not wait for a handshake.
        if (link.cancel(context) && this.#free(url) === null) this.#open(url)
      },
    }
  }

  #free(url: string): SpeechLink | null {
    for (const link of this.#links) if (link.url === url && link.hasRoom) return link
    return null
  }

  #open(url: string): SpeechLink | null {
    if (this.#links.size >= MAX_LINKS) return null
    const link: SpeechLink = new SpeechLink(url, this.#dialect, this.#clock, this.#log, () => {
      this.#links.delete(link)
    })
    this.#links.add(link)
    return link
  }
}

interface Context {
  readonly id: string
  readonly events: SpeakEvents
  readonly rate: SessionRate
  readonly text: string
  /** First byte of a cut sample. */
  rest: number | null
  samples: number
  /** Up to here words of the text were told. */
  told: number
}

class SpeechLink {
  readonly url: string
  readonly #dialect: SynthesisDialect
  readonly #clock: Clock
  readonly #socket: VendorSocket
  readonly #gone: () => void
  readonly #contexts = new Map<string, Context>()
  /** Stopped, and by when the vendor must have told that they are done. */
  readonly #stopped = new Map<string, number>()
  /** Messages for when the socket is open. */
  readonly #waiting: string[] = []
  #idle: Timer | null = null
  #usedMs: number
  #over = false

  constructor(url: string, dialect: SynthesisDialect, clock: Clock, log: Log, gone: () => void) {
    this.url = url
    this.#dialect = dialect
    this.#clock = clock
    this.#gone = gone
    this.#usedMs = clock.now()
    this.#socket = new VendorSocket(
      {
        url,
        headers: dialect.headers,
        clock,
        connectMs: CONNECT_MS,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxBufferedBytes: MAX_WAITING_BYTES,
        classify: (code, reason) => dialect.classify(code, reason),
      },
      {
        open: () => {
          for (const message of this.#waiting.splice(0)) this.#socket.send(message)
        },
        message: (message) => dialect.read(message, this.#reader),
        closed: (error) => {
          if (this.#contexts.size === 0) log.info({ code: error.code }, 'an idle speech connection ended')
          this.#end(error)
        },
      },
    )
    this.#tend()
  }

  get hasRoom(): boolean {
    const now = this.#clock.now()
    for (const [id, untilMs] of this.#stopped) if (untilMs <= now) this.#stopped.delete(id)
    return !this.#over && this.#contexts.size + this.#stopped.size < this.#dialect.maxContexts
  }

  begin(id: string, request: SpeakRequest, events: SpeakEvents): void {
    this.#usedMs = this.#clock.now()
    this.#contexts.set(id, {
      id,
      events,
      rate: request.rate,
      text: request.text,
      rest: null,
      samples: 0,
      told: 0,
    })
    for (const message of this.#dialect.begin(id, request)) {
      if (this.#socket.isOpen) this.#socket.send(message)
      else this.#waiting.push(message)
    }
  }

  /** Returns whether it was still being spoken. */
  cancel(id: string): boolean {
    if (!this.#contexts.delete(id)) return false
    this.#usedMs = this.#clock.now()
    const message = this.#dialect.cancel(id)
    if (message === null || !this.#socket.isOpen) this.#close()
    else {
      this.#socket.send(message)
      if (this.#dialect.countsCancelled) this.#stopped.set(id, this.#clock.now() + STOPPED_MS)
    }
    return true
  }

  readonly #reader: SynthesisReader = {
    audio: (id, bytes) => {
      const context = this.#find(id)
      if (context === undefined || bytes.length === 0) return
      const pcm = take(context, bytes)
      context.samples += pcm.length
      if (pcm.length > 0) context.events.audio(pcm, context.rate)
    },
    word: (id, word, atMs) => {
      const context = this.#find(id)
      if (context === undefined) return
      const at = context.text.indexOf(word, context.told)
      // Normalised by the vendor: not in our text.
      if (at < 0) return
      context.told = at + word.length
      context.events.word(at, word.length, atMs)
    },
    receivedMs: (id) => {
      const context = this.#find(id)
      return context === undefined ? 0 : (context.samples * 1000) / context.rate
    },
    done: (id) => {
      if (id !== null) this.#stopped.delete(id)
      const context = this.#find(id)
      if (context === undefined) return
      this.#leave(context)
      if (context.samples > 0) context.events.done()
      else
        context.events.failed(
          new EngineError('vendor_failed', 'the vendor sent no sound', { retryable: true }),
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
      this.#leave(context)
      context.events.failed(error)
    },
  }

  #find(id: string | null): Context | undefined {
    return id === null ? this.#contexts.values().next().value : this.#contexts.get(id)
  }

  #leave(context: Context): void {
    this.#contexts.delete(context.id)
    this.#usedMs = this.#clock.now()
  }

  /** Keeps an idle connection alive, and closes one that nobody uses. */
  #tend(): void {
    const { keepAlive, idleMs } = this.#dialect
    const everyMs = Math.min(keepAlive?.afterMs ?? idleMs, idleMs)
    this.#idle = this.#clock.after(everyMs, () => {
      if (this.#contexts.size === 0 && this.#clock.now() - this.#usedMs >= idleMs - 1) {
        this.#close()
        return
      }
      if (keepAlive !== null) this.#socket.send(keepAlive.message)
      this.#tend()
    })
  }

  #close(): void {
    this.#socket.close()
    this.#end(new EngineError('closed', 'the connection was given up', { retryable: true }))
  }

  #end(error: EngineError): void {
    if (this.#over) return
    this.#over = true
    this.#idle?.cancel()
    this.#gone()
    const cut = [...this.#contexts.values()]
    this.#contexts.clear()
    for (const context of cut) context.events.failed(error)
  }
}

/** Whole samples of what came, a cut one kept for the next piece. */
function take(context: Context, bytes: Uint8Array): Int16Array {
  let whole = bytes
  if (context.rest !== null) {
    whole = new Uint8Array(bytes.length + 1)
    whole[0] = context.rest
    whole.set(bytes, 1)
  }
  context.rest = whole.length % 2 === 1 ? (whole.at(-1) ?? null) : null
  return samplesOf(whole)
}
