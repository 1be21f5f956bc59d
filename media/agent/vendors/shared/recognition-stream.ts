import type { Clock, Timer } from '../../../base/clock.js'
import type { EngineError } from '../../../base/errors.js'
import type { Log } from '../../../base/log.js'
import type { TimedWord } from '../../agent-spec.js'
import type { SpeechToTextCapabilities, SpeechToTextEvents, SpeechToTextStream } from '../../vendor-ports.js'
import { type FailureClass, VendorSocket } from './vendor-socket.js'

/** What a dialect reads out of the vendor's messages. Times are ms since this connection's first sample. */
export interface RecognitionReader {
  /** `language`: what the vendor heard, as a contract's tag; null when it does not tell. */
  partial(text: string, language?: string | null): void
  final(text: string, words: readonly TimedWord[] | null, language?: string | null): void
  /** Optional: the text so far may be all of it; false: it is not, after all. */
  eager?(complete: boolean): void
  /** The vendor reports a failure in a message. */
  failed(error: EngineError): void
}

/**
 * One vendor's wire format for one stream; it may keep the text of an utterance in the making. Makes
 * and reads messages, owns no socket.
 */
export interface RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** How much sound one message carries while somebody speaks. */
  readonly chunkMs: number
  /** Sound as the vendor takes it. The result is sent at once. */
  encode(pcm: Int16Array): string | Uint8Array
  /** Asks for the final text of what was sent, or null where the vendor decides by itself. */
  flush(): string | null
  /** Said before the socket closes, or null. */
  closeMessage(): string | null
  /** What keeps the connection when there is no sound: after `afterMs` of silence, this message. */
  readonly keepAlive: { readonly afterMs: number; message(): string | Uint8Array }
  classify(code: number, reason: string): FailureClass
  /** A new connection: forget what the old one said. */
  reset(): void
  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void
}

const CONNECT_MS = 4000
/** Sound kept to be sent (again) after a lost connection. */
const MEMORY_MS = 4000
/**
 * How much sound one message carries while nobody speaks: a message over TLS costs the same whatever is in
 * it, and most of a call one side only listens. What waits is sent with the first sound of speech.
 */
const QUIET_CHUNK_MS = 180
/** Before the detector's onset: the first consonant. */
const PRE_ROLL_MS = 300
/** A hole in the sound up to this long is filled with silence, so that times stay right. */
const LONGEST_GAP_MS = 2000
const GAP_MS = 30
/** Waits before the next try; a connection that lived begins again at the first. */
const BACKOFF_MS = [0, 500, 1000] as const
const LIVED_MS = 5000
/** Seconds of 16 kHz sound in base64: far beyond what a vendor may be behind. */
const MAX_WAITING_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 1024 * 1024

/**
 * Recognition over a vendor's socket. A lost connection is opened again by itself: nothing said
 * meanwhile is lost for 4 s, and an utterance that was cut is sent again from its beginning. `failed`
 * is told when the vendor refuses for good or cannot be reached three times in a row.
 */
export class RecognitionStream implements SpeechToTextStream {
  readonly capabilities: SpeechToTextCapabilities
  readonly #dialect: RecognitionDialect
  readonly #rate: number
  readonly #events: SpeechToTextEvents
  readonly #clock: Clock
  readonly #log: Log
  readonly #memory: Int16Array
  readonly #spokenSize: number
  readonly #chunk: Int16Array
  /** Session ms of sample 0. */
  #originMs: number | null = null
  /** Samples written, sent, and the first one of the present connection. */
  #written = 0
  #sent = 0
  #connectionStart = 0
  /** Where the utterance begins that the vendor has not answered, or null. */
  #utterance: number | null = null
  #flushDue = false
  #socket: VendorSocket | null = null
  #openedMs = 0
  #failures = 0
  #retry: Timer | null = null
  #idle: Timer | null = null
  #lastSentMs = 0
  #closed = false

  constructor(options: {
    readonly dialect: RecognitionDialect
    readonly rate: number
    readonly events: SpeechToTextEvents
    readonly clock: Clock
    readonly log: Log
  }) {
    this.#dialect = options.dialect
    this.capabilities = options.dialect.capabilities
    this.#rate = options.rate
    this.#events = options.events
    this.#clock = options.clock
    this.#log = options.log
    this.#memory = new Int16Array(this.#samples(MEMORY_MS))
    this.#spokenSize = this.#samples(options.dialect.chunkMs)
    this.#chunk = new Int16Array(Math.max(this.#spokenSize, this.#samples(QUIET_CHUNK_MS)))
    this.#connect()
  }

  write(pcm: Int16Array, atMs: number): void {
    if (this.#closed) return
    this.#originMs ??= atMs
    const hole = atMs - (this.#originMs + (this.#written * 1000) / this.#rate)
    if (hole > GAP_MS) this.#fill(hole)
    this.#keep(pcm)
    this.#pump(false)
  }

  utteranceStart(atMs: number): void {
    if (this.#closed) return
    const at = this.#samples(atMs - PRE_ROLL_MS - (this.#originMs ?? atMs))
    this.#utterance ??= Math.max(0, Math.min(at, this.#written))
    this.#pump(false)
  }

  utteranceEnd(_atMs: number): void {
    if (this.#closed) return
    this.#flushDue = true
    this.#pump(true)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#retry?.cancel()
    this.#idle?.cancel()
    this.#socket?.close(this.#dialect.closeMessage())
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#rate) / 1000)
  }

  // ---- sound

  #fill(holeMs: number): void {
    const silence = new Int16Array(this.#samples(Math.min(holeMs, LONGEST_GAP_MS)))
    this.#keep(silence)
    // What is beyond is left out, and time begins anew.
    if (holeMs > LONGEST_GAP_MS) this.#originMs = (this.#originMs ?? 0) + holeMs - LONGEST_GAP_MS
  }

  #keep(pcm: Int16Array): void {
    const memory = this.#memory
    let at = this.#written % memory.length
    for (let i = 0; i < pcm.length; i++) {
      memory[at++] = pcm[i] as number
      if (at === memory.length) at = 0
    }
    this.#written += pcm.length
    this.#sent = Math.max(this.#sent, this.#written - memory.length)
  }

  /** Sends what is complete; `all` also what is less than a chunk, and what asks for the final text. */
  #pump(all: boolean): void {
    const socket = this.#socket
    if (!socket?.isOpen) return
    // Until the text is there the vendor may still be listening for the end.
    const size = this.#utterance === null ? this.#chunk.length : this.#spokenSize
    while (this.#written - this.#sent >= size || (all && this.#written > this.#sent)) {
      const count = Math.min(size, this.#written - this.#sent)
      let at = this.#sent % this.#memory.length
      for (let i = 0; i < count; i++) {
        this.#chunk[i] = this.#memory[at++] as number
        if (at === this.#memory.length) at = 0
      }
      this.#sent += count
      socket.send(this.#dialect.encode(this.#chunk.subarray(0, count)))
      if (!socket.isOpen) return
      this.#lastSentMs = this.#clock.now()
    }
    if (this.#flushDue && all) {
      this.#flushDue = false
      const flush = this.#dialect.flush()
      if (flush !== null) socket.send(flush)
    }
  }

  // ---- connection

  #connect(): void {
    const dialect = this.#dialect
    dialect.reset()
    const socket = new VendorSocket(
      {
        url: dialect.url,
        headers: dialect.headers,
        clock: this.#clock,
        connectMs: CONNECT_MS,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxBufferedBytes: MAX_WAITING_BYTES,
        classify: (code, reason) => dialect.classify(code, reason),
      },
      {
        open: () => this.#opened(),
        message: (message) => {
          if (this.#socket === socket) dialect.read(message, this.#reader)
        },
        closed: (error) => this.#lost(error),
      },
    )
    this.#socket = socket
  }

  readonly #reader: RecognitionReader = {
    partial: (text, language = null) => {
      this.#failures = 0
      if (!this.#closed) this.#events.partial(text, language)
    },
    final: (text, words, language = null) => {
      this.#failures = 0
      this.#utterance = null
      if (!this.#closed) this.#events.final(text, words === null ? null : this.#placed(words), language)
    },
    eager: (complete) => {
      if (!this.#closed) this.#events.eagerEndOfTurn?.(complete)
    },
    failed: (error) => {
      this.#socket?.close()
      this.#lost(error)
    },
  }

  /** From ms of the connection to ms of the session. */
  #placed(words: readonly TimedWord[]): TimedWord[] {
    const offset = (this.#originMs ?? 0) + (this.#connectionStart * 1000) / this.#rate
    return words.map((word) => ({
      text: word.text,
      startMs: Math.round(offset + word.startMs),
      endMs: Math.round(offset + word.endMs),
    }))
  }

  #opened(): void {
    this.#openedMs = this.#clock.now()
    this.#lastSentMs = this.#openedMs
    if (this.#utterance !== null) {
      // The new connection knows nothing of what the old one heard.
      this.#sent = Math.max(Math.min(this.#sent, this.#utterance), this.#written - this.#memory.length, 0)
    }
    this.#connectionStart = this.#sent
    this.#pump(this.#flushDue)
    this.#keepAlive()
  }

  #keepAlive(): void {
    const { afterMs, message } = this.#dialect.keepAlive
    const dueMs = this.#lastSentMs + afterMs - this.#clock.now()
    this.#idle?.cancel()
    this.#idle = this.#clock.after(Math.max(1, dueMs), () => {
      if (this.#clock.now() - this.#lastSentMs >= afterMs - 1) {
        this.#socket?.send(message.call(this.#dialect.keepAlive))
        this.#lastSentMs = this.#clock.now()
      }
      this.#keepAlive()
    })
  }

  #lost(error: EngineError): void {
    if (this.#closed) return
    this.#idle?.cancel()
    const lived = this.#openedMs > 0 && this.#clock.now() - this.#openedMs >= LIVED_MS
    this.#openedMs = 0
    if (lived) this.#failures = 0
    const waitMs = BACKOFF_MS[this.#failures]
    this.#failures++
    if (!error.retryable || waitMs === undefined) {
      this.#closed = true
      this.#events.failed(error)
      return
    }
    this.#log.info({ code: error.code, context: error.context }, 'recognition connects again')
    this.#retry = this.#clock.after(waitMs, () => this.#connect())
  }
}
