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

/** A connection that soon has to end is replaced as soon as nobody speaks. */
const RENEW_BEFORE_MS = 5 * 60_000
const LOOK_MS = 1000

export interface RealtimeConnectionOptions {
  readonly model: SpeechToSpeech
  readonly open: Omit<SpeechToSpeechOptions, 'history'>
  /** What a new connection has to be told. */
  history(): readonly ChatMessage[]
  /** Nobody speaks, and nothing is owed to the caller. */
  idle(): boolean
  readonly clock: Clock
  readonly log: Log
}

/** What is heard of the caller; `renewed`: on a connection that knows nothing of what was before. */
export type RealtimeListener = SpeechToSpeechEvents & { renewed(): void }

/**
 * The connection of one call to its model. It is opened again when it was lost and something is to be
 * said, and before its time is over; the new one is told what was said on the old one.
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

  /** Returns why there is no connection; null: there is one, or one in the making. */
  connect(): VendorFailure | null {
    if (this.#closed) return new EngineError('closed', 'the conversation is over')
    if (this.#stream !== null) return null
    const { model, open, history, clock } = this.#options
    let stream: SpeechToSpeechStream | null = null
    const live = () => stream !== null && this.#stream === stream
    const listener = () => (live() ? this.#listener : null)
    try {
      stream = model.open(
        { ...open, history: history() },
        {
          callerStarted: () => listener()?.callerStarted(),
          callerStopped: () => listener()?.callerStopped(),
          committed: (item) => listener()?.committed(item),
          transcript: (item, text) => listener()?.transcript(item, text),
          failed: (error) => {
            if (live()) this.#lost(error)
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

  /** A new connection for one that no longer answers. */
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

  // Without a connection nothing of this is lost: the next one is told the history.

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

  /** Idempotent. */
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
    log.info({ code: error.code, context: error.context }, 'the connection to the model was lost')
    this.#drop()
    // A reply that was cut is asked for anew at once, and opens the next connection.
    queueMicrotask(() => {
      if (this.#stream === null && !this.#closed) this.#listener?.failed(error)
    })
  }

  #renewWhenIdle(): void {
    const { idle: quiet, clock, log } = this.#options
    if (!quiet()) {
      this.#renewTimer = clock.after(LOOK_MS, () => this.#renewWhenIdle())
      return
    }
    log.info({}, 'the connection to the model is replaced before its time is over')
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
