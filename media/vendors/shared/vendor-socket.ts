import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Clock, Timer } from '../../base/clock.js'
import { EngineError, type EngineErrorCode, errorText } from '../../base/errors.js'
import { cleanText } from '../../base/foreign-text.js'
import { AudioMessageReader, readMessage, type TextBytes } from './audio-messages.js'
import { errorMessageOf } from './vendor-http.js'

/** Meaning of a vendor's failure. */
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
  /** Deadline from the call to the open socket (ms); later it fails with `vendor_unreachable`. */
  readonly connectMs: number
  /** Longest accepted message. Some vendors send minutes of audio in one. */
  readonly maxMessageBytes: number
  /** Bound of unsent bytes; beyond it the vendor reads too slowly (`vendor_stalled`). */
  readonly maxBufferedBytes: number
  /** The vendor sends its JSON in binary messages. */
  readonly binaryMessages?: boolean
  /** Parses a text message that is no JSON object; null for one to ignore. Absent: messages are JSON. */
  parse?(text: string): Readonly<Record<string, unknown>> | null
  /** Name of the field that holds the audio of the vendor's messages as base64. Absent: they hold none. */
  readonly audioField?: string
  /** Classifies a close code; `reason` is the vendor's text. */
  classify(code: number, reason: string): FailureClass
}

export interface VendorSocketEvents {
  open(): void
  /**
   * Receives a JSON object, and the bytes of its audio until the call returns. Other texts are ignored, and binary
   * messages unless the vendor uses them.
   */
  message(message: Readonly<Record<string, unknown>>, audio: Uint8Array | null): void
  /** Called once, as the last event: rejected, lost, or closed by the vendor. */
  closed(error: EngineError): void
}

/** A connection to a vendor. */
export interface VendorLink {
  readonly isOpen: boolean
  /** Sends a message; its bytes may be reused at once. */
  send(message: string | Uint8Array | TextBytes): void
  /** Sends `last`, if any, and closes. Idempotent; no event follows. */
  close(last?: string | null): void
}

/** Interval of pings (ms); a ping without any message until the next one means that the socket is dead. */
const PING_MS = 10_000
const MAX_REFUSAL_BYTES = 16_384

/**
 * One WebSocket to a vendor with JSON messages both ways. Sends pings, detects half-open connections and
 * bounds unsent data. Independent of any vendor.
 */
export class VendorSocket implements VendorLink {
  readonly #socket: WebSocket
  readonly #options: VendorSocketOptions
  readonly #events: VendorSocketEvents
  readonly #reader: AudioMessageReader | null
  #timer: Timer
  #received = true
  #done = false

  constructor(options: VendorSocketOptions, events: VendorSocketEvents) {
    this.#options = options
    this.#reader = options.audioField === undefined ? null : new AudioMessageReader(options.audioField)
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
      this.#received = true
    })
    this.#socket.on('close', (code, reason) => this.#closed(code, cleanText(reason.toString('utf8'))))
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
    return !this.#done && this.#socket.readyState === WebSocket.OPEN
  }

  /** Sends text, or bytes as a binary message; the bytes of either may be reused at once. */
  send(message: string | Uint8Array | TextBytes): void {
    if (!this.isOpen) return
    if (this.#socket.bufferedAmount > this.#options.maxBufferedBytes) {
      this.#end(new EngineError('vendor_stalled', 'the vendor stopped reading', { retryable: true }))
      return
    }
    // From a buffer the frame is written at once rather than as header and payload.
    if (typeof message === 'string') this.#socket.send(Buffer.from(message), { binary: false })
    else if (message instanceof Uint8Array) this.#socket.send(message)
    else this.#socket.send(message.text, { binary: false })
  }

  /** Sends `last`, if any, and closes. Idempotent; no event follows. */
  close(last: string | null = null): void {
    if (this.#done) return
    if (last !== null) this.send(last)
    this.#detach()
    // Before the handshake there is nothing to close properly.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(1000)
    else this.#socket.terminate()
  }

  #opened(): void {
    if (this.#done) return
    this.#timer.cancel()
    this.#schedulePing()
    this.#events.open()
  }

  #schedulePing(): void {
    this.#timer = this.#options.clock.after(PING_MS, () => {
      if (!this.#received) {
        this.#end(new EngineError('vendor_stalled', 'the vendor stopped responding', { retryable: true }))
        return
      }
      this.#received = false
      this.#socket.ping()
      this.#schedulePing()
    })
  }

  #message(data: Buffer, isBinary: boolean): void {
    this.#received = true
    if (this.#done || (isBinary && this.#options.binaryMessages !== true)) return
    // Invalid messages are ignored; a stream without valid ones runs into its deadline.
    if (this.#options.parse !== undefined) {
      const message = this.#options.parse(data.toString('utf8'))
      if (message !== null) this.#events.message(message, null)
      return
    }
    const read = this.#reader === null ? readMessage(data) : this.#reader.read(data)
    if (read !== null) this.#events.message(read.message, read.audio)
  }

  #closed(code: number, reason: string): void {
    if (this.#done) return
    const failure = this.#options.classify(code, reason)
    this.#end(
      new EngineError(failure.code, `the vendor closed the connection: ${code} ${reason}`.trim(), {
        retryable: failure.retryable,
        context: { closeCode: code },
      }),
    )
  }

  #refused(response: IncomingMessage): void {
    const status = response.statusCode ?? 0
    const failure = classifyStatus(status)
    let body = ''
    const end = () => {
      const text = errorMessageOf(body).slice(0, 300)
      this.#end(
        new EngineError(failure.code, `the vendor answered ${status}: ${text}`, {
          retryable: failure.retryable,
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
    if (this.#done) return
    this.#detach()
    this.#socket.terminate()
    this.#events.closed(error)
  }

  #detach(): void {
    this.#done = true
    this.#timer.cancel()
    this.#socket.removeAllListeners()
    // An error while closing has no receiver.
    this.#socket.on('error', () => {})
  }
}

/** Classifies the HTTP status of a rejected handshake. */
export function classifyStatus(status: number): FailureClass {
  if (status === 429) return RATE_LIMITED
  return status >= 500 || status === 408 ? TRANSIENT : PERMANENT
}
