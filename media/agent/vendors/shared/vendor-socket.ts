import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Clock, Timer } from '../../../base/clock.js'
import { EngineError, type EngineErrorCode, errorText } from '../../../base/errors.js'
import { errorMessageOf } from './vendor-http.js'

/** What a vendor's refusal means for us. */
export interface FailureClass {
  readonly code: EngineErrorCode
  readonly retryable: boolean
}

export const PERMANENT: FailureClass = { code: 'vendor_rejected', retryable: false }
export const TRANSIENT: FailureClass = { code: 'vendor_failed', retryable: true }
export const RATE_LIMITED: FailureClass = { code: 'vendor_rate_limited', retryable: true }

export interface VendorSocketOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  /** From the call to the open socket; later it is `vendor_unreachable`. */
  readonly connectMs: number
  /** Longest message taken. Some vendors send minutes of sound in one. */
  readonly maxMessageBytes: number
  /** Most that may wait to be sent; above it the vendor reads too slowly (`vendor_stalled`). */
  readonly maxBufferedBytes: number
  /** Meaning of a close code; the reason is the vendor's text. */
  classify(code: number, reason: string): FailureClass
}

export interface VendorSocketEvents {
  open(): void
  /** A JSON object. Text that is none, and binary messages, are left out. */
  message(message: Readonly<Record<string, unknown>>): void
  /** Once, and nothing after it: refused, lost, closed by the vendor. */
  closed(error: EngineError): void
}

/** A socket that hears nothing for so long is asked; without an answer in the same time it is dead. */
const PING_MS = 10_000
const MAX_REFUSAL_BYTES = 16_384

/**
 * One WebSocket to a vendor: text in JSON both ways, sound as the vendor wants it. Keeps itself alive
 * by pings, notices half-open connections, bounds what waits. Knows nothing of any vendor.
 */
export class VendorSocket {
  readonly #socket: WebSocket
  readonly #options: VendorSocketOptions
  readonly #events: VendorSocketEvents
  #timer: Timer
  #heard = true
  #over = false

  constructor(options: VendorSocketOptions, events: VendorSocketEvents) {
    this.#options = options
    this.#events = events
    this.#socket = new WebSocket(options.url, {
      headers: { ...options.headers },
      perMessageDeflate: false,
      maxPayload: options.maxMessageBytes,
      followRedirects: false,
    })
    this.#timer = options.clock.after(options.connectMs, () =>
      this.#end(
        new EngineError('vendor_unreachable', 'the vendor did not answer in time', { retryable: true }),
      ),
    )
    this.#socket.on('open', () => this.#opened())
    this.#socket.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary))
    this.#socket.on('pong', () => {
      this.#heard = true
    })
    this.#socket.on('close', (code, reason) => this.#closed(code, reason.toString('utf8')))
    this.#socket.on('unexpected-response', (_request, response) => this.#refused(response))
    this.#socket.on('error', (error) =>
      this.#end(
        new EngineError('vendor_unreachable', `the connection to the vendor failed: ${errorText(error)}`, {
          retryable: true,
          cause: error,
        }),
      ),
    )
  }

  get isOpen(): boolean {
    return !this.#over && this.#socket.readyState === WebSocket.OPEN
  }

  /** A string goes as text, bytes as a binary message (read at once, so it may be reused). */
  send(message: string | Uint8Array): void {
    if (!this.isOpen) return
    if (this.#socket.bufferedAmount > this.#options.maxBufferedBytes) {
      this.#end(
        new EngineError('vendor_stalled', 'the vendor does not read what it is sent', { retryable: true }),
      )
      return
    }
    // As bytes of its own the frame is written in one piece, not its header and its payload apart.
    if (typeof message === 'string') this.#socket.send(Buffer.from(message), { binary: false })
    else this.#socket.send(message)
  }

  /** Idempotent; no event follows. `last` is sent before the socket closes. */
  close(last: string | null = null): void {
    if (this.#over) return
    if (last !== null) this.send(last)
    this.#leave()
    // Before it is open there is nothing to say goodbye to.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(1000)
    else this.#socket.terminate()
  }

  #opened(): void {
    if (this.#over) return
    this.#timer.cancel()
    this.#watch()
    this.#events.open()
  }

  #watch(): void {
    this.#timer = this.#options.clock.after(PING_MS, () => {
      if (!this.#heard) {
        this.#end(new EngineError('vendor_stalled', 'the vendor no longer answers', { retryable: true }))
        return
      }
      this.#heard = false
      this.#socket.ping()
      this.#watch()
    })
  }

  #message(data: Buffer, isBinary: boolean): void {
    this.#heard = true
    if (this.#over || isBinary) return
    const parsed = parseObject(data.toString('utf8'))
    if (parsed !== null) this.#events.message(parsed)
  }

  #closed(code: number, reason: string): void {
    if (this.#over) return
    const verdict = this.#options.classify(code, reason)
    this.#end(
      new EngineError(verdict.code, `the vendor closed the connection: ${code} ${reason}`.trim(), {
        retryable: verdict.retryable,
        context: { closeCode: code },
      }),
    )
  }

  #refused(response: IncomingMessage): void {
    const status = response.statusCode ?? 0
    const verdict = classifyStatus(status)
    let body = ''
    const end = () => {
      const text = errorMessageOf(body).slice(0, 300)
      this.#end(
        new EngineError(verdict.code, `the vendor answered ${status}: ${text}`, {
          retryable: verdict.retryable,
          context: { status },
        }),
      )
    }
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      body += piece
      if (body.length > MAX_REFUSAL_BYTES) end()
    })
    response.once('end', end)
    response.once('error', end)
  }

  #end(error: EngineError): void {
    if (this.#over) return
    this.#leave()
    this.#socket.terminate()
    this.#events.closed(error)
  }

  #leave(): void {
    this.#over = true
    this.#timer.cancel()
    this.#socket.removeAllListeners()
    // A socket that breaks while it closes has nobody to tell.
    this.#socket.on('error', () => {})
  }
}

/** Meaning of the HTTP status with which a handshake was refused. */
export function classifyStatus(status: number): FailureClass {
  if (status === 429) return RATE_LIMITED
  return status >= 500 || status === 408 ? TRANSIENT : PERMANENT
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Record<string, unknown>)
      : null
  } catch {
    // Vendors' rule: what is not understood is ignored; a stream that stays silent meets its deadline.
    return null
  }
}
