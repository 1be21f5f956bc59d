import type { Clock, Timer } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { toVendorFailure } from '../tts/synthesis.js'
import type {
  Cancellable,
  ChatMessage,
  SpeechToSpeech,
  SpeechToSpeechEvents,
  SpeechToSpeechOptions,
  SpeechToSpeechStream,
  SpokenReplyEvents,
  VendorFailure,
} from '../vendor-ports.js'

/** Within this time before its limit, a connection is replaced as soon as the call is idle. */
const RENEW_BEFORE_MS = 5 * 60_000
const IDLE_POLL_MS = 1000

export interface RealtimeConnectionOptions {
  readonly model: SpeechToSpeech
  readonly open: Omit<SpeechToSpeechOptions, 'history'>
  /** Returns the messages for a new connection. */
  history(): readonly ChatMessage[]
  /** Returns whether neither side speaks and no reply is due. */
  idle(): boolean
  readonly clock: Clock
  readonly log: Log
}

/** Receives events about the caller. `renewed` reports a new connection, which knows only the history. */
export type RealtimeListener = SpeechToSpeechEvents & { renewed(): void }

/**
 * The connection of one call to its speech-to-speech model. Reconnects when a lost connection is needed and
 * before the connection's time limit. A new connection receives the history.
 */
export class RealtimeConnection {
  readonly #options: RealtimeConnectionOptions
  #stream: SpeechToSpeechStream | null = null
  #listener: RealtimeListener | null = null
  #renewTimer: Timer | null = null
  #closed = false

  constructor(options: RealtimeConnectionOptions) {
    this.#options = options
  }

  /** Connects unless connected. Returns the failure, or null. */
  connect(): VendorFailure | null {
    if (this.#closed) return new EngineError('closed', 'the conversation is over')
    if (this.#stream !== null) return null
    const { model, open, history, clock } = this.#options
    let stream: SpeechToSpeechStream | null = null
    const isCurrent = () => stream !== null && this.#stream === stream
    const listener = () => (isCurrent() ? this.#listener : null)
    try {
      stream = model.open(
        { ...open, history: history() },
        {
          callerStarted: () => listener()?.callerStarted(),
          callerStopped: () => listener()?.callerStopped(),
          committed: (item) => listener()?.committed(item),
          transcript: (item, text) => listener()?.transcript(item, text),
          failed: (error) => {
            if (isCurrent()) this.#lost(error)
          },
        },
      )
    } catch (error) {
      return toVendorFailure(error)
    }
    this.#stream = stream
    const { maxConnectionMs: longestMs } = model.capabilities
    if (longestMs !== null) {
      this.#renewTimer?.cancel()
      this.#renewTimer = clock.after(Math.max(longestMs - RENEW_BEFORE_MS, longestMs / 2), () =>
        this.#renewWhenIdle(),
      )
    }
    return null
  }

  listen(listener: RealtimeListener | null): void {
    this.#listener = listener
  }

  /** Replaces a connection that no longer answers. */
  renew(): void {
    this.#drop()
    if (this.connect() === null) this.#listener?.renewed()
  }

  write(pcm: Int16Array): void {
    this.#stream?.write(pcm)
  }

  commit(): void {
    this.#stream?.commit()
  }

  respond(mayUseTools: boolean, events: SpokenReplyEvents): Cancellable {
    return this.#begin((stream) => stream.respond({ mayUseTools }, events), events)
  }

  say(text: string, events: SpokenReplyEvents): Cancellable {
    return this.#begin((stream) => stream.say(text, events), events)
  }

  // These calls need no connection: the next one receives the history.

  truncate(item: string, audioMs: number): void {
    this.#stream?.truncate(item, audioMs)
  }

  deleteItem(item: string): void {
    this.#stream?.deleteItem(item)
  }

  addMessage(role: 'user' | 'assistant' | 'system', text: string): void {
    this.#stream?.addMessage(role, text)
  }

  toolResult(callId: string, output: string): void {
    this.#stream?.toolResult(callId, output)
  }

  /** Closes the connection. Idempotent. */
  close(): void {
    this.#closed = true
    this.#listener = null
    this.#drop()
  }

  #begin(begin: (stream: SpeechToSpeechStream) => Cancellable, events: SpokenReplyEvents): Cancellable {
    const isNew = this.#stream === null
    const failure = this.connect()
    if (this.#stream !== null) {
      if (isNew) this.#listener?.renewed()
      return begin(this.#stream)
    }
    let cancelled = false
    queueMicrotask(() => {
      if (!cancelled && failure !== null) events.failed(failure)
    })
    return {
      cancel: () => {
        cancelled = true
      },
    }
  }

  #lost(error: VendorFailure): void {
    const { log } = this.#options
    log.info({ code: error.code, context: error.context }, 'realtime.connection_lost')
    this.#drop()
    // The retry of an interrupted reply opens the next connection at once.
    queueMicrotask(() => {
      if (this.#stream === null && !this.#closed) this.#listener?.failed(error)
    })
  }

  #renewWhenIdle(): void {
    const { idle: quiet, clock, log } = this.#options
    if (!quiet()) {
      this.#renewTimer = clock.after(IDLE_POLL_MS, () => this.#renewWhenIdle())
      return
    }
    log.info({}, 'realtime.connection_renewed')
    this.renew()
  }

  #drop(): void {
    this.#renewTimer?.cancel()
    this.#renewTimer = null
    const stream = this.#stream
    this.#stream = null
    stream?.close()
  }
}
