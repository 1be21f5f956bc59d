import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, type EngineErrorCode, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Outbox, READ_EVERY } from './outbox.js'
import type {
  FromWorker,
  Port,
  SessionEvent,
  SessionId,
  ToWorker,
  WorkerRequest,
  WorkerResult,
} from './protocol.js'

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: EngineError) => void
  readonly timer: Timer
}

/**
 * Main thread's side: numbered requests to one worker. Every request has a deadline (`timeout`). Closing
 * rejects pending and later requests. A late result is ignored.
 */
export class RequestChannel {
  readonly #port: Port<ToWorker>
  readonly #clock: Clock
  readonly #log: Log
  readonly #onEvent: (session: SessionId, event: SessionEvent) => void
  readonly #onLost: (session: SessionId) => void
  readonly #pending = new Map<number, Pending>()
  #nextId = 1
  #read = 0
  #closed: EngineError | null = null

  constructor(options: {
    readonly port: Port<ToWorker>
    readonly clock: Clock
    readonly log: Log
    readonly onEvent: (session: SessionId, event: SessionEvent) => void
    readonly onLost: (session: SessionId) => void
  }) {
    this.#port = options.port
    this.#clock = options.clock
    this.#log = options.log
    this.#onEvent = options.onEvent
    this.#onLost = options.onLost
  }

  get pending(): number {
    return this.#pending.size
  }

  request<R extends WorkerRequest>(request: R, timeoutMs: number): Promise<WorkerResult<R>> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    const id = this.#nextId++
    return new Promise<WorkerResult<R>>((resolve, reject) => {
      const timer = this.#clock.after(timeoutMs, () => {
        this.#pending.delete(id)
        reject(
          new EngineError('timeout', 'the media worker did not answer in time', {
            retryable: true,
            context: { request: request.type, timeoutMs },
          }),
        )
      })
      // The types pair each request with its result; the id pairs them at run time.
      this.#pending.set(id, { resolve: (result) => resolve(result as WorkerResult<R>), reject, timer })
      try {
        this.#port.postMessage({ id, request })
      } catch (error) {
        this.#take(id)
        reject(
          new EngineError('internal', 'the request could not be sent to the media worker', { cause: error }),
        )
      }
    })
  }

  /** Handles a message of the worker. */
  receive(message: FromWorker): void {
    if (this.#closed !== null) return
    if (++this.#read === READ_EVERY) {
      this.#port.postMessage({ read: this.#read })
      this.#read = 0
    }
    switch (message.type) {
      case 'result':
        this.#take(message.id)?.resolve(message.result)
        return
      case 'error':
        this.#take(message.id)?.reject(
          // `serveRequests` writes codes of the same closed list.
          new EngineError(message.code as EngineErrorCode, message.message, {
            retryable: message.code === 'overloaded' || message.code === 'timeout',
          }),
        )
        return
      case 'event':
        this.#onEvent(message.session, message.event)
        return
      case 'lost':
        this.#onLost(message.session)
        return
      case 'log':
        this.#log[message.level](message.fields, message.message)
        return
    }
  }

  /** Rejects all pending requests. Idempotent. */
  close(error: EngineError): void {
    if (this.#closed !== null) return
    this.#closed = error
    for (const pending of this.#pending.values()) {
      pending.timer.cancel()
      pending.reject(error)
    }
    this.#pending.clear()
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending !== undefined) {
      this.#pending.delete(id)
      pending.timer.cancel()
    }
    return pending
  }
}

/**
 * Worker's side: answers each request once, with the handler's result or its error. An EngineError keeps its
 * code. Any other error becomes `internal` and is logged here, where its stack is known.
 */
export function serveRequests(
  port: Outbox,
  log: Log,
  handle: (request: WorkerRequest) => Promise<unknown>,
): (message: ToWorker) => void {
  return (message) => {
    if ('read' in message) {
      port.read(message.read)
      return
    }
    const { id, request } = message
    handle(request).then(
      (result) => port.postMessage({ type: 'result', id, result: result ?? null }),
      (error: unknown) => {
        const known = error instanceof EngineError
        if (!known) {
          const stack = error instanceof Error ? error.stack : undefined
          log.error({ request: request.type, error: errorText(error), stack }, 'worker.request_failed')
        }
        const code = known ? error.code : 'internal'
        port.postMessage({ type: 'error', id, code, message: errorText(error) })
      },
    )
  }
}
