import type { Cancellable, SpeakEvents, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { Scope } from '../../base/scope.js'
import { type Context, SynthesisConnection } from './synthesis-connection.js'
import type { SynthesisDialect } from './synthesis-dialect.js'

/** Connections of one thread to one vendor; beyond them the conversation fails over. */
const MAX_CONNECTIONS = 1024

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
