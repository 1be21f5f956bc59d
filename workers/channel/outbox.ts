import type { FromWorker, Port, SessionId } from './protocol.js'

/** Messages that the main thread has not read: above this a log line is not worth its place ... */
const FEW = 2048
/** ... nor a key or a sound heard ... */
const MANY = 4096
/** ... and a call whose events nobody takes is ended. Some 20 MB. */
const FULL = 16_384

/** The main thread tells that it read this many. */
export const READ_EVERY = 64

export interface OutboxOptions {
  readonly port: Port<FromWorker>
  /** An event of this session could not be told: the session is to be ended. */
  readonly onFull: (session: SessionId) => void
}

/**
 * A worker's side of the message port, bounded: a main thread that does not read for long must not fill
 * the memory of the process. Answers to requests always go, for there are no more of them than requests.
 */
export class Outbox implements Port<FromWorker> {
  /** Messages that were left out so far. */
  dropped = 0
  readonly #options: OutboxOptions
  #unread = 0
  #told = 0

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  get unread(): number {
    return this.#unread
  }

  postMessage(message: FromWorker): void {
    if (this.#unread >= FEW && !this.#mayGo(message)) {
      this.dropped++
      if (message.type === 'event' && !mayBeMissed(message)) this.#options.onFull(message.session)
      return
    }
    this.#unread++
    this.#options.port.postMessage(message)
  }

  /** The main thread read this many. */
  read(count: number): void {
    this.#unread = Math.max(0, this.#unread - count)
    if (this.dropped === this.#told || this.#unread >= FEW) return
    const fields = { dropped: this.dropped - this.#told }
    this.#told = this.dropped
    const text = 'messages of a media worker were left out while the main thread did not read'
    this.postMessage({ type: 'log', level: 'warn', fields, message: text })
  }

  #mayGo(message: FromWorker): boolean {
    if (message.type === 'log') return false
    if (message.type !== 'event') return true
    return this.#unread < (mayBeMissed(message) ? MANY : FULL)
  }
}

/** What a far side can cause as often as it likes. */
function mayBeMissed({ event }: Extract<FromWorker, { type: 'event' }>): boolean {
  return event.type === 'dtmf' || event.type === 'detected' || event.type === 'trouble'
}
