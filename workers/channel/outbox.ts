import type { FromWorker, Port, SessionId } from './protocol.js'

/** Unread messages above which log lines are dropped. */
const LOG_LIMIT = 2048
/** Unread messages above which DTMF digits, detector events and failures are dropped. */
const EVENT_LIMIT = 4096
/** Unread messages above which a session that has an event to send is ended. About 20 MB. */
const SESSION_LIMIT = 16_384

/** The main thread acknowledges after this number of messages. */
export const READ_EVERY = 64

export interface OutboxOptions {
  readonly port: Port<FromWorker>
  /** Called when an event could not be sent: the session must be ended. */
  readonly onFull: (session: SessionId) => void
}

/**
 * A worker's bounded side of the message port: a main thread that stops reading must not fill the memory of
 * the process. Results of requests are always sent, because there are never more of them than requests.
 */
export class Outbox implements Port<FromWorker> {
  /** Number of dropped messages. */
  dropped = 0
  readonly #options: OutboxOptions
  #unread = 0
  #reportedDrops = 0

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  get unread(): number {
    return this.#unread
  }

  postMessage(message: FromWorker): void {
    if (this.#unread >= LOG_LIMIT && !this.#hasRoom(message)) {
      this.dropped++
      if (message.type === 'event' && !isDroppable(message)) this.#options.onFull(message.session)
      return
    }
    this.#unread++
    this.#options.port.postMessage(message)
  }

  /** Records that the main thread read `count` messages. */
  read(count: number): void {
    this.#unread = Math.max(0, this.#unread - count)
    if (this.dropped === this.#reportedDrops || this.#unread >= LOG_LIMIT) return
    const fields = { dropped: this.dropped - this.#reportedDrops }
    this.#reportedDrops = this.dropped
    const text = 'worker.messages_dropped'
    this.postMessage({ type: 'log', level: 'warn', fields, message: text })
  }

  #hasRoom(message: FromWorker): boolean {
    if (message.type === 'log') return false
    if (message.type !== 'event') return true
    return this.#unread < (isDroppable(message) ? EVENT_LIMIT : SESSION_LIMIT)
  }
}

/** Returns true for events that the far side can cause without limit. */
function isDroppable({ event }: Extract<FromWorker, { type: 'event' }>): boolean {
  return event.type === 'dtmf' || event.type === 'detected' || event.type === 'trouble'
}
