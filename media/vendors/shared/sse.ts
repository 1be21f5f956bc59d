import { createParser, type EventSourceParser } from 'eventsource-parser'

/** One server-sent event: its `event` field (empty without one) and its joined `data` lines. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** A single event larger than this (UTF-16 units) is no token stream. */
const MAX_EVENT = 1024 * 1024

/**
 * Decodes `text/event-stream` (WHATWG HTML 9.2) from bytes. A last event without its blank line counts when
 * the stream ends. Throws RangeError when one event exceeds 1 MiB.
 */
export class SseParser {
  readonly #decoder = new TextDecoder('utf-8')
  readonly #parser: EventSourceParser
  #events: SseEvent[] = []
  #tooLarge = false

  constructor() {
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent: ({ event = '', data }) => this.#events.push({ event, data }),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.#tooLarge = true
      },
    })
  }

  push(bytes: Uint8Array, emit: (event: SseEvent) => void): void {
    this.#feed(this.#decoder.decode(bytes, { stream: true }), emit)
  }

  /** Parses text that is decoded already. */
  pushText(text: string, emit: (event: SseEvent) => void): void {
    this.#feed(text, emit)
  }

  /** Ends the stream and emits an event that is still open. */
  end(emit: (event: SseEvent) => void): void {
    this.#feed(`${this.#decoder.decode()}\n\n`, emit)
  }

  #feed(text: string, emit: (event: SseEvent) => void): void {
    if (text !== '') this.#parser.feed(text)
    if (this.#tooLarge) throw new RangeError('server-sent event too large')
    const events = this.#events
    this.#events = []
    for (const event of events) emit(event)
  }
}
