import { EngineError } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import { isRecord } from './json.js'
import { type SseEvent, SseParser } from './sse.js'

/** One message of a reply. */
export interface ReplyMessage {
  /** The `event` field of the server-sent event, empty without one. */
  readonly event: string
  readonly value: Readonly<Record<string, unknown>>
  /** True if the message is the whole body, because the server did not stream. */
  readonly whole: boolean
}

/** Receives the messages of a body, and null for the mark `[DONE]`. */
export type ReplySink = (message: ReplyMessage | null) => void

const DONE = '[DONE]'
/** Events that proxies send to keep a connection open. */
const KEEP_ALIVE = /^(?:ping|heartbeat|keep-?alive)$/i
const BRACES = new Set(['{', '['].map((brace) => brace.charCodeAt(0)))
/** Blanks and the bytes of a byte order mark. */
const BEFORE = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/**
 * Decodes the body of a reply by its content, because servers and proxies label it wrongly: server-sent events with
 * JSON, JSON objects one per line, or one JSON value. Throws EngineError `vendor_failed` for data that is not JSON,
 * and RangeError for an event over 1 MiB.
 */
export class ReplyDecoder {
  readonly #sink: ReplySink
  #body: EventBody | JsonBody | null = null

  constructor(sink: ReplySink) {
    this.#sink = sink
  }

  push(bytes: Uint8Array): void {
    let start = 0
    if (this.#body === null) {
      while (start < bytes.length && BEFORE.has(bytes[start] ?? 0)) start++
      const first = bytes[start]
      if (first === undefined) return
      this.#body = BRACES.has(first) ? new JsonBody(this.#sink) : new EventBody(this.#sink)
    }
    this.#body.push(bytes.subarray(start))
  }

  /** Ends the body. */
  end(): void {
    this.#body?.end()
  }
}

/** Server-sent events. */
class EventBody {
  readonly #parser = new SseParser()
  readonly #take: (event: SseEvent) => void

  constructor(sink: ReplySink) {
    this.#take = ({ event, data }) => {
      for (const message of messagesOf(event, data)) sink(message)
    }
  }

  push(bytes: Uint8Array): void {
    this.#parser.push(bytes, this.#take)
  }

  end(): void {
    this.#parser.end(this.#take)
  }
}

/** One JSON value, or one object per line, each read when its line is complete. */
class JsonBody {
  readonly #sink: ReplySink
  readonly #decoder = new TextDecoder()
  #text = ''
  #kind: 'unknown' | 'lines' | 'whole' = 'unknown'

  constructor(sink: ReplySink) {
    this.#sink = sink
  }

  push(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true })
    while (this.#kind !== 'whole') {
      const end = this.#text.indexOf('\n')
      if (end < 0) return
      const line = this.#text.slice(0, end)
      // A single value may end with a line end.
      if (this.#kind === 'unknown' && this.#text.slice(end).trim() === '') return
      if (this.#kind === 'unknown') this.#kind = isRecord(parsed(line)) ? 'lines' : 'whole'
      if (this.#kind === 'whole') return
      this.#text = this.#text.slice(end + 1)
      for (const message of messagesOf('', line)) this.#sink(message)
    }
  }

  end(): void {
    const rest = this.#text + this.#decoder.decode()
    const whole = this.#kind !== 'lines'
    for (const message of messagesOf('', rest)) this.#sink(message === null ? null : { ...message, whole })
  }
}

/** Returns the messages of the data of one event. */
function messagesOf(event: string, data: string): readonly (ReplyMessage | null)[] {
  const text = data.trim()
  if (text === '' || KEEP_ALIVE.test(text)) return []
  if (text === DONE) return [null]
  const value = parsed(text)
  if (value !== undefined) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    return values.filter(isRecord).map((record) => ({ event, value: record, whole: false }))
  }
  if (event === 'error') return [{ event, value: { error: text }, whole: false }]
  // Some servers leave out the empty line between two events.
  const lines = text.split('\n')
  if (lines.length > 1 && lines.every((line) => line.trim() === DONE || parsed(line) !== undefined)) {
    return lines.flatMap((line) => messagesOf(event, line))
  }
  throw new EngineError('vendor_failed', 'the language model sent invalid JSON', {
    context: { length: data.length },
  })
}

/** Returns the value of a JSON text, or undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch {
    return undefined
  }
}
