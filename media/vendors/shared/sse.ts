/** One server-sent event: its `event` field (empty for none) and its joined `data` lines. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** A single event larger than this is no token stream. UTF-16 units. */
const MAX_EVENT = 1024 * 1024

/**
 * Parses `text/event-stream` (WHATWG HTML 9.2) from bytes as they come: lines end in LF, CRLF or CR,
 * a UTF-8 character may be cut anywhere, comments are skipped, and a last event without its blank
 * line still counts when the stream ends. Owns no socket. Throws RangeError past 1 MiB of one event.
 */
export class SseParser {
  readonly #decoder = new TextDecoder('utf-8')
  #line = ''
  #event = ''
  #data: string[] = []
  #size = 0
  #afterCr = false

  push(bytes: Uint8Array, emit: (event: SseEvent) => void): void {
    this.#feed(this.#decoder.decode(bytes, { stream: true }), emit)
  }

  /** The stream ended: tells what was still open. */
  end(emit: (event: SseEvent) => void): void {
    this.#feed(this.#decoder.decode(), emit)
    if (this.#line !== '') this.#take(this.#line)
    this.#line = ''
    this.#dispatch(emit)
  }

  #feed(text: string, emit: (event: SseEvent) => void): void {
    let from = 0
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit !== 10 && unit !== 13) {
        this.#afterCr = false
        continue
      }
      if (unit === 10 && this.#afterCr) {
        // The second half of CRLF.
        this.#afterCr = false
        from = i + 1
        continue
      }
      this.#afterCr = unit === 13
      const line = this.#line + text.slice(from, i)
      this.#line = ''
      from = i + 1
      if (line === '') this.#dispatch(emit)
      else this.#take(line)
    }
    this.#line += text.slice(from)
    if (this.#line.length + this.#size > MAX_EVENT) throw new RangeError('server-sent event too large')
  }

  #take(line: string): void {
    if (line.startsWith(':')) return
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const raw = colon < 0 ? '' : line.slice(colon + 1)
    const value = raw.startsWith(' ') ? raw.slice(1) : raw
    if (field === 'event') this.#event = value
    else if (field === 'data') {
      this.#data.push(value)
      this.#size += value.length
      if (this.#size > MAX_EVENT) throw new RangeError('server-sent event too large')
    }
  }

  #dispatch(emit: (event: SseEvent) => void): void {
    const event = { event: this.#event, data: this.#data.join('\n') }
    const any = this.#data.length > 0
    this.#event = ''
    this.#data = []
    this.#size = 0
    if (any) emit(event)
  }
}
