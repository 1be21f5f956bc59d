import { END_EVENT, type EndReason, type EventStream, type StreamEvent } from './event-stream.js'

/** Events that wait for one client, at most. A client that leaves more unread is disconnected. */
const MAX_WAITING = 2000

/**
 * A queue of events for one client. An event replaces a waiting one of the same key, and takes a place at the
 * end, so that the ids of the events stay in order. `onClose` runs once.
 */
export class EventQueue implements EventStream {
  readonly #waiting = new Map<string, StreamEvent>()
  readonly #onClose: () => void
  readonly #limit: number
  #wake: (() => void) | null = null
  #ended: EndReason | null = null
  #closed = false

  constructor(onClose: () => void, limit = MAX_WAITING) {
    this.#onClose = onClose
    this.#limit = limit
  }

  push(key: string, event: StreamEvent): void {
    if (this.#closed || this.#ended !== null) return
    this.#waiting.delete(key)
    this.#waiting.set(key, event)
    if (this.#waiting.size > this.#limit) {
      this.#waiting.clear()
      this.end('slow')
    }
    this.#signal()
  }

  /** Ends the stream after the waiting events. */
  end(reason: EndReason): void {
    if (this.#closed) return
    this.#ended ??= reason
    this.#signal()
  }

  async next(): Promise<readonly StreamEvent[] | null> {
    if (!this.#closed && this.#waiting.size === 0 && this.#ended === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#closed) return null
    const events = [...this.#waiting.values()]
    this.#waiting.clear()
    if (this.#ended === null) return events
    const end = { event: END_EVENT, data: { reason: this.#ended } }
    this.close()
    return [...events, end]
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting.clear()
    this.#signal()
    this.#onClose()
  }

  #signal(): void {
    this.#wake?.()
    this.#wake = null
  }
}
