import type { TimedWord } from '../../agent/agent-spec.js'
import type {
  SpeechToTextCapabilities,
  SpeechToTextEvents,
  SpeechToTextStream,
} from '../../agent/vendor-ports.js'
import type { Clock, Timer } from '../../base/clock.js'
import type { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { TextBytes } from './audio-messages.js'
import {
  type FailureClass,
  type VendorLink,
  VendorSocket,
  type VendorSocketEvents,
  type VendorSocketOptions,
} from './vendor-socket.js'

/** Receives the contents of a vendor's messages. Times are ms since the first sample of this connection. */
export interface RecognitionReader {
  /** `language` is the detected language as a BCP 47 tag of the API, or null. */
  partial(text: string, language?: string | null): void
  final(text: string, words: readonly TimedWord[] | null, language?: string | null): void
  /** Reports that the text so far may be complete, or that this was wrong. */
  eager?(complete: boolean): void
  /** Reports that the vendor refused a change of its settings and goes on with the former ones. */
  refused?(): void
  /** Reports a failure from a message of the vendor. */
  failed(error: EngineError): void
}

/**
 * One vendor's wire format for one STT stream. May keep the text of the current utterance. Encodes and
 * decodes messages; owns no socket.
 */
export interface RecognitionDialect {
  readonly capabilities: SpeechToTextCapabilities
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Audio per message while the caller speaks (ms). */
  readonly chunkMs: number
  /** Shortest audio that the vendor takes in one message (ms); a shorter rest waits for the next audio. Absent means any. */
  readonly minChunkMs?: number
  /** Returns the message that configures a new connection. Absent when the address does that. */
  openMessage?(): string
  /**
   * Present when the vendor receives the audio of utterances only: it would transcribe the silence before them.
   * Returns the messages before the audio of an utterance.
   */
  utteranceMessages?(): readonly (string | Uint8Array)[]
  /** True if the vendor takes no new utterance before the text of the last one. Absent means no. */
  readonly busy?: boolean
  /** Encodes audio; the result is sent at once and may be reused. */
  encode(pcm: Int16Array): Uint8Array | TextBytes
  /** Returns the message that requests the final text, or null when the vendor decides on its own. */
  flush(): string | Uint8Array | null
  /** Notes whether the agent asked for a number. Absent when the vendor takes no hint of it. */
  expectNumber?(expected: boolean): void
  /** Returns the message that changes the vendor's settings, or null when there is nothing to change now. */
  changeMessage?(): string | null
  /** Returns the message before the socket closes, or null. */
  closeMessage(): string | null
  /** Message that keeps the connection open after `afterMs` without audio. Null when the vendor needs none. */
  readonly keepAlive: { readonly afterMs: number; message(): string | Uint8Array | TextBytes } | null
  classify(code: number, reason: string): FailureClass
  /** Parses a text message that is no JSON object; null for one to ignore. Absent: messages are JSON. */
  parse?(text: string): Readonly<Record<string, unknown>> | null
  /** Opens a connection of another kind than a WebSocket. */
  connect?(options: VendorSocketOptions, events: VendorSocketEvents): VendorLink
  /** Forgets the state of the previous connection. */
  reset(): void
  read(message: Readonly<Record<string, unknown>>, reader: RecognitionReader): void
}

const CONNECT_MS = 4000
/** Audio kept for sending again after a reconnect (ms). */
const MEMORY_MS = 4000
/**
 * Audio per message while the caller is silent (ms). A message over TLS costs the same whatever its size, and
 * most of a call one side only listens. The first speech flushes what is pending.
 */
const SILENCE_CHUNK_MS = 180
/** Audio sent from before the VAD's onset (ms): the first consonant. */
const PRE_ROLL_MS = 300
/** A gap in the audio up to this length (ms) is filled with silence, so that times stay valid. */
const MAX_FILLED_GAP_MS = 2000
const GAP_MS = 30
/** Delays before a reconnect (ms); after a connection that lasted `STABLE_MS` they start over. */
const BACKOFF_MS = [0, 500, 1000] as const
const STABLE_MS = 5000
/** Several seconds of 16 kHz audio in base64, far more than a working vendor leaves unread. */
const MAX_BUFFERED_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 1024 * 1024

/**
 * STT over a connection to a vendor. Reconnects on its own: up to 4 s of audio survive a lost connection, and an
 * interrupted utterance is sent again from its beginning. Calls `failed` when the vendor rejects for good or
 * cannot be reached three times in a row.
 */
export class RecognitionStream implements SpeechToTextStream {
  readonly capabilities: SpeechToTextCapabilities
  readonly #dialect: RecognitionDialect
  readonly #rate: number
  readonly #events: SpeechToTextEvents
  readonly #clock: Clock
  readonly #log: Log
  readonly #memory: Int16Array
  readonly #speechChunk: number
  readonly #chunk: Int16Array
  readonly #minChunk: number
  /** Session time (ms) of sample 0. */
  #originMs: number | null = null
  /** Samples written, samples sent, and the first sample of the current connection. */
  #written = 0
  #sent = 0
  #connectionStart = 0
  /** First sample of the utterance without a final text yet, or null. */
  #utterance: number | null = null
  #flushDue = false
  /** For a vendor that receives utterances only: what part of the utterance is being sent. */
  #part: 'none' | 'due' | 'speech' = 'none'
  #socket: VendorLink | null = null
  #openedMs = 0
  #failures = 0
  #retry: Timer | null = null
  #keepAliveTimer: Timer | null = null
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
    this.#speechChunk = this.#samples(options.dialect.chunkMs)
    this.#minChunk = this.#samples(options.dialect.minChunkMs ?? 0)
    this.#chunk = new Int16Array(Math.max(this.#speechChunk, this.#samples(SILENCE_CHUNK_MS)))
    this.#connect()
  }

  write(pcm: Int16Array, atMs: number): void {
    if (this.#closed) return
    this.#originMs ??= atMs
    const gapMs = atMs - (this.#originMs + (this.#written * 1000) / this.#rate)
    if (gapMs > GAP_MS) this.#fill(gapMs)
    this.#keep(pcm)
    this.#pump(false)
  }

  utteranceStart(atMs: number): void {
    if (this.#closed) return
    const at = this.#samples(atMs - PRE_ROLL_MS - (this.#originMs ?? atMs))
    const start = Math.max(0, Math.min(at, this.#written))
    if (this.#dialect.utteranceMessages !== undefined && !this.#flushDue) {
      // The text of the last utterance may still be due; this one has its own start.
      this.#utterance = start
      this.#part = 'due'
    } else this.#utterance ??= start
    this.#pump(false)
  }

  utteranceEnd(_atMs: number): void {
    if (this.#closed) return
    this.#flushDue = true
    this.#pump(true)
  }

  expectNumber(expected: boolean): void {
    if (this.#closed) return
    this.#dialect.expectNumber?.(expected)
    this.#sendChange()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#retry?.cancel()
    this.#keepAliveTimer?.cancel()
    this.#socket?.close(this.#dialect.closeMessage())
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#rate) / 1000)
  }

  // ---- audio

  #fill(gapMs: number): void {
    const silence = new Int16Array(this.#samples(Math.min(gapMs, MAX_FILLED_GAP_MS)))
    this.#keep(silence)
    // A longer gap is not filled; the time origin moves instead.
    if (gapMs > MAX_FILLED_GAP_MS) this.#originMs = (this.#originMs ?? 0) + gapMs - MAX_FILLED_GAP_MS
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

  /** Sends complete chunks; with `all` also the remainder and a due flush. */
  #pump(all: boolean): void {
    const socket = this.#socket
    if (!socket?.isOpen) return
    if (this.#dialect.utteranceMessages !== undefined && !this.#begin(socket)) return
    // Until the final text the vendor may still wait for the end of the utterance.
    const size = this.#utterance === null ? this.#chunk.length : this.#speechChunk
    const least = all ? Math.max(1, this.#minChunk) : size
    while (this.#written - this.#sent >= least) {
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
      this.#part = 'none'
      const flush = this.#dialect.flush()
      if (flush !== null) socket.send(flush)
    }
  }

  /** Begins a due utterance if the vendor takes it. Returns whether audio may be sent. */
  #begin(socket: VendorLink): boolean {
    if (this.#part === 'due' && this.#dialect.busy !== true) {
      this.#part = 'speech'
      this.#sent = Math.max(this.#sent, this.#utterance ?? this.#written)
      for (const message of this.#dialect.utteranceMessages?.() ?? []) socket.send(message)
    }
    return this.#part === 'speech'
  }

  // ---- connection

  #connect(): void {
    const dialect = this.#dialect
    dialect.reset()
    const options: VendorSocketOptions = {
      url: dialect.url,
      headers: dialect.headers,
      clock: this.#clock,
      connectMs: CONNECT_MS,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxBufferedBytes: MAX_BUFFERED_BYTES,
      classify: (code, reason) => dialect.classify(code, reason),
      ...(dialect.parse === undefined ? {} : { parse: (text) => dialect.parse?.(text) ?? null }),
    }
    const events: VendorSocketEvents = {
      open: () => this.#opened(),
      message: (message) => {
        if (this.#socket !== socket) return
        dialect.read(message, this.#reader)
        this.#sendChange()
        // An utterance may have waited for the text of the one before.
        if (this.#part === 'due') this.#pump(this.#flushDue)
      },
      closed: (error) => this.#lost(error),
    }
    const socket = dialect.connect?.(options, events) ?? new VendorSocket(options, events)
    this.#socket = socket
  }

  readonly #reader: RecognitionReader = {
    partial: (text, language = null) => {
      this.#failures = 0
      if (!this.#closed) this.#events.partial(text, language)
    },
    final: (text, words, language = null) => {
      this.#failures = 0
      // The text may belong to the utterance before the current one.
      if (this.#part === 'none') this.#utterance = null
      if (!this.#closed) this.#events.final(text, words === null ? null : this.#toSession(words), language)
    },
    eager: (complete) => {
      if (!this.#closed) this.#events.eagerEndOfTurn?.(complete)
    },
    refused: () => this.#log.info({ host: new URL(this.#dialect.url).host }, 'stt.change_refused'),
    failed: (error) => {
      this.#socket?.close()
      this.#lost(error)
    },
  }

  /** Converts connection times to session times (ms). */
  #toSession(words: readonly TimedWord[]): TimedWord[] {
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
    const configuration = this.#dialect.openMessage?.()
    if (configuration !== undefined) this.#socket?.send(configuration)
    this.#sendChange()
    if (this.#utterance !== null) {
      // A new connection has no audio of the utterance yet.
      this.#sent = Math.max(Math.min(this.#sent, this.#utterance), this.#written - this.#memory.length, 0)
      if (this.#dialect.utteranceMessages !== undefined) {
        // An utterance that ended before the connection was lost has no text yet.
        this.#flushDue ||= this.#part === 'none'
        this.#part = 'due'
      }
    }
    this.#connectionStart = this.#sent
    this.#pump(this.#flushDue)
    this.#keepAlive()
  }

  #sendChange(): void {
    const socket = this.#socket
    if (!socket?.isOpen) return
    const change = this.#dialect.changeMessage?.() ?? null
    if (change !== null) socket.send(change)
  }

  #keepAlive(): void {
    if (this.#dialect.keepAlive === null) return
    const { afterMs, message } = this.#dialect.keepAlive
    const dueMs = this.#lastSentMs + afterMs - this.#clock.now()
    this.#keepAliveTimer?.cancel()
    this.#keepAliveTimer = this.#clock.after(Math.max(1, dueMs), () => {
      if (this.#clock.now() - this.#lastSentMs >= afterMs - 1) {
        this.#socket?.send(message.call(this.#dialect.keepAlive))
        this.#lastSentMs = this.#clock.now()
      }
      this.#keepAlive()
    })
  }

  #lost(error: EngineError): void {
    if (this.#closed) return
    this.#keepAliveTimer?.cancel()
    const stable = this.#openedMs > 0 && this.#clock.now() - this.#openedMs >= STABLE_MS
    this.#openedMs = 0
    if (stable) this.#failures = 0
    const waitMs = BACKOFF_MS[this.#failures]
    this.#failures++
    if (!error.retryable || waitMs === undefined) {
      this.#closed = true
      this.#events.failed(error)
      return
    }
    this.#log.info({ code: error.code, context: error.context }, 'stt.reconnecting')
    this.#retry = this.#clock.after(waitMs, () => this.#connect())
  }
}
