import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Timer } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import { cleanText } from '../../base/foreign-text.js'
import type { TextBytes } from '../shared/audio-messages.js'
import {
  classifyStatus,
  type VendorLink,
  type VendorSocketEvents,
  type VendorSocketOptions,
} from '../shared/vendor-socket.js'

/** As a message: ends the requests of the call, whose last responses follow. */
export const END_OF_REQUESTS = 'end of requests'

/** Interval of pings (ms), as in the vendor's own streaming clients; a ping without a pong until the next one is the end. */
const PING_MS = 30_000
/** The last responses and the status follow the end of the requests within this time (ms). */
const STATUS_MS = 8000
/** A closed connection that stays silent is given up after this time (ms). */
const CLOSE_MS = 5000
/** Compressed flag and length before each message. */
const PREFIX = 5

export interface GrpcCall {
  /** `/package.Service/Method`. */
  readonly path: string
  /** Returns the metadata of a new call. */
  metadata(): Readonly<Record<string, string>>
  /** Decodes a response. May throw; the connection fails then. */
  decode(bytes: Uint8Array): Readonly<Record<string, unknown>>
}

/**
 * A gRPC connection with one call at a time: the first message opens a call, `END_OF_REQUESTS` ends its requests. The
 * responses reach `message` decoded; a call that ends well is reported as `{"ended":true}`, any other end closes the
 * connection. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export class GrpcConnection implements VendorLink {
  readonly #options: VendorSocketOptions
  readonly #events: VendorSocketEvents
  readonly #session: ClientHttp2Session
  readonly #requested: GrpcCall
  #socket: Socket | null = null
  #call: ClientHttp2Stream | null = null
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #timer: Timer
  #statusTimer: Timer | null = null
  #answered = true
  #isOpen = false
  #done = false

  constructor(options: VendorSocketOptions, call: GrpcCall, events: VendorSocketEvents) {
    this.#options = options
    this.#events = events
    this.#requested = call
    this.#session = connect(options.url, { settings: { enablePush: false } })
    this.#timer = options.clock.after(options.connectMs, () =>
      this.#fail('vendor_unreachable', 'the vendor did not answer in time'),
    )
    this.#session.once('connect', (_session, socket) => {
      this.#socket = socket
      this.#opened()
    })
    this.#session.on('error', (error) =>
      this.#fail('vendor_unreachable', `the connection to the vendor failed: ${errorText(error)}`, error),
    )
    this.#session.on('close', () => this.#fail('vendor_failed', 'the vendor closed the connection'))
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#done && !this.#session.closed
  }

  send(message: string | Uint8Array | TextBytes): void {
    if (!this.isOpen) return
    if (message === END_OF_REQUESTS) {
      this.#endRequests()
      return
    }
    if (!(message instanceof Uint8Array)) throw new TypeError('a gRPC message is bytes')
    this.#call ??= this.#open()
    if (this.#call.writableLength > this.#options.maxBufferedBytes) {
      this.#fail('vendor_stalled', 'the vendor stopped reading')
      return
    }
    const framed = Buffer.alloc(PREFIX + message.length)
    framed.writeUInt32BE(message.length, 1)
    framed.set(message, PREFIX)
    this.#call.write(framed)
  }

  close(): void {
    if (this.#done) return
    const wasOpen = this.#isOpen
    this.#detach()
    if (!wasOpen) {
      this.#session.destroy()
      return
    }
    this.#call?.close(constants.NGHTTP2_CANCEL)
    this.#session.close()
    // A vendor that does not read is not waited for.
    this.#socket?.setTimeout(CLOSE_MS, () => this.#socket?.destroy())
  }

  #opened(): void {
    if (this.#done) return
    this.#isOpen = true
    this.#timer.cancel()
    this.#schedulePing()
    this.#events.open()
  }

  #schedulePing(): void {
    this.#timer = this.#options.clock.after(PING_MS, () => {
      if (!this.#answered) {
        this.#fail('vendor_stalled', 'the vendor stopped responding')
        return
      }
      this.#answered = false
      this.#session.ping((error) => {
        if (error === null) this.#answered = true
      })
      this.#schedulePing()
    })
  }

  #open(): ClientHttp2Stream {
    this.#received = Buffer.alloc(0)
    this.#ended = false
    let status: { readonly code: string; readonly message: string } | null = null
    const call = this.#session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: this.#requested.path,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc+proto',
      [constants.HTTP2_HEADER_TE]: 'trailers',
      [constants.HTTP2_HEADER_USER_AGENT]: 'parley',
      ...this.#requested.metadata(),
    })
    const take = (headers: IncomingHttpHeaders) => {
      status = statusOf(headers) ?? status
    }
    call.on('response', (headers) => {
      const http = headers[':status'] ?? 0
      take(headers)
      if (http !== 200 && status === null) this.#refused(http)
    })
    call.on('trailers', take)
    call.on('data', (data: Buffer) => this.#data(data))
    // A vendor that refuses a call ends it while requests are still to come.
    call.on('end', () => call.close())
    // The status decides; a reset call has none.
    call.on('error', () => {})
    call.on('close', () => {
      if (this.#done || this.#call !== call) return
      this.#call = null
      this.#statusTimer?.cancel()
      if (status === null) this.#fail('vendor_failed', 'the vendor ended the call without a status')
      else if (status.code === '0') this.#events.message({ ended: true }, null)
      else this.#classified(Number(status.code), status.message)
    })
    return call
  }

  #endRequests(): void {
    if (this.#call === null || this.#ended) return
    this.#ended = true
    this.#call.end()
    this.#statusTimer = this.#options.clock.after(STATUS_MS, () =>
      this.#fail('vendor_stalled', 'the vendor did not end the call'),
    )
  }

  #data(data: Buffer): void {
    if (this.#done) return
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data])
    while (this.#received.length >= PREFIX) {
      const length = this.#received.readUInt32BE(1)
      if (this.#received[0] !== 0 || length > this.#options.maxMessageBytes) {
        this.#fail('vendor_failed', 'the vendor sent a message that is compressed or too long')
        return
      }
      if (this.#received.length < PREFIX + length) return
      const message = this.#received.subarray(PREFIX, PREFIX + length)
      this.#received = this.#received.subarray(PREFIX + length)
      let decoded: Readonly<Record<string, unknown>>
      try {
        decoded = this.#requested.decode(message)
      } catch (error) {
        this.#fail('vendor_failed', `the vendor sent a message that is none: ${errorText(error)}`, error)
        return
      }
      this.#events.message(decoded, null)
      if (this.#done) return
    }
  }

  #refused(http: number): void {
    const { code, retryable } = classifyStatus(http)
    this.#end(new EngineError(code, `the vendor answered ${http}`, { retryable, context: { status: http } }))
  }

  #classified(status: number, message: string): void {
    const { code, retryable } = this.#options.classify(status, message)
    this.#end(
      new EngineError(code, `the vendor reports ${status} ${message}`.trim(), {
        retryable,
        context: { status },
      }),
    )
  }

  #fail(
    code: 'vendor_unreachable' | 'vendor_failed' | 'vendor_stalled',
    text: string,
    cause?: unknown,
  ): void {
    this.#end(new EngineError(code, text, { retryable: true, ...(cause === undefined ? {} : { cause }) }))
  }

  #end(error: EngineError): void {
    if (this.#done) return
    this.#detach()
    this.#session.destroy()
    this.#events.closed(error)
  }

  #detach(): void {
    this.#done = true
    this.#timer.cancel()
    this.#statusTimer?.cancel()
    this.#session.removeAllListeners('connect')
    this.#session.removeAllListeners('close')
  }
}

/** Returns the status of a call from its trailers, or from the headers of a call without responses. */
function statusOf(headers: IncomingHttpHeaders): { readonly code: string; readonly message: string } | null {
  const code = headers['grpc-status']
  if (typeof code !== 'string') return null
  const message = headers['grpc-message']
  return { code, message: cleanText(typeof message === 'string' ? decoded(message) : '').slice(0, 300) }
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message)
  } catch {
    // Percent signs that encode nothing are part of the text.
    return message
  }
}
