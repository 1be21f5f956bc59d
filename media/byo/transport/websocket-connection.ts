import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { Clock } from '../../base/clock.js'
import { Scope } from '../../base/scope.js'
import {
  type BotConnection,
  type BotConnectionEvents,
  CLOSE_TIMEOUT_MS,
  CONFIRM_MS,
  connectionFailureText,
  type Dialer,
  KEEPALIVE_MS,
  MAX_BUFFERED_BYTES,
  MAX_MISSED_KEEPALIVES,
} from './bot-connection.js'
import { ReadBudget } from './read-budget.js'
import { ReadConfirmation } from './read-confirmation.js'

const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
/** Cost of reading a small text message (ms, measured). */
const MESSAGE_MS = 0.005

export const dialWebSocket: Dialer = ({ handshake, clock, lookup, events }, subprotocols, attempt) => {
  const ws = new WebSocket(handshake.url, [...subprotocols], {
    headers: { ...handshake.headers },
    lookup,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    // Invalid text is found when it is parsed; a pass over every byte is not worth its cost.
    skipUTF8Validation: true,
  })
  // A closing socket still reports errors, so one listener stays attached.
  ws.on('error', (error) => attempt.failed(connectionFailureText(error), null))
  ws.on('unexpected-response', (_request, response: IncomingMessage) => {
    response.resume()
    attempt.failed(`the bot answered ${response.statusCode ?? 0}`, response.statusCode ?? null)
  })
  let stream: Socket | null = null
  ws.on('upgrade', ({ socket }: IncomingMessage) => {
    stream = socket
  })
  ws.on('open', () => attempt.opened(new WebSocketConnection(ws, stream, clock, events)))
  return () => ws.terminate()
}

/** An open WebSocket to a bot. */
class WebSocketConnection implements BotConnection {
  readonly #ws: WebSocket
  readonly #clock: Clock
  readonly #events: BotConnectionEvents
  readonly #scope = new Scope()
  readonly #budget: ReadBudget
  #missedPongs = 0
  /** Number of the last ping. */
  #ping = 0
  /** Pings are its questions and pongs confirm them. */
  readonly #confirmation = new ReadConfirmation()
  #closing = false
  #dead = false

  /** `stream` is the underlying TCP or TLS socket. */
  constructor(ws: WebSocket, stream: Socket | null, clock: Clock, events: BotConnectionEvents) {
    this.#ws = ws
    this.#clock = clock
    this.#events = events
    this.#budget = new ReadBudget(clock, this.#scope, (on) => (on ? ws.pause() : ws.resume()))
    // Around the WebSocket's own listener, because frames without a message also cost time.
    stream?.prependListener('data', () => this.#budget.beginRead())
    stream?.on('data', () => this.#budget.endRead())
    ws.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary))
    ws.on('pong', (data: Buffer) => {
      this.#missedPongs = 0
      if (!this.#confirmation.pending || data.length !== 4 || data.readUInt32BE() !== this.#ping) return
      this.#confirmation.confirm(this.#clock.now())
    })
    ws.on('ping', (data: Buffer) => {
      this.#budget.charge(data.length, MESSAGE_MS)
      if (ws.bufferedAmount > MAX_BUFFERED_BYTES) ws.terminate()
    })
    ws.on('close', (code: number) => this.#closed(code))
    this.#keepAlive()
  }

  get unreadMs(): number {
    return this.#confirmation.pending ? this.#confirmation.lateMs(this.#clock.now()) : 0
  }

  get bufferedBytes(): number {
    return this.#ws.bufferedAmount
  }

  get open(): boolean {
    return !this.#closing && !this.#dead
  }

  send(message: string | Buffer, isText = typeof message === 'string'): void {
    if (!this.open) return
    // A buffer is masked together with its header and written at once; a string takes two writes.
    this.#ws.send(typeof message === 'string' ? Buffer.from(message) : message, { binary: !isText })
    if (this.#ws.bufferedAmount > MAX_BUFFERED_BYTES) this.#ws.terminate()
    else if (!this.#confirmation.pending && this.#clock.now() - this.#confirmation.askedAtMs >= CONFIRM_MS) {
      this.#sendPing()
    }
  }

  close(code: number): void {
    if (!this.open) return
    this.#closing = true
    this.#ws.resume()
    this.#ws.close(code)
    this.#scope.after(this.#clock, CLOSE_TIMEOUT_MS, () => this.#ws.terminate())
  }

  terminate(): void {
    this.#ws.terminate()
  }

  #message(data: Buffer, isBinary: boolean): void {
    if (!this.open) return
    this.#budget.charge(data.length, MESSAGE_MS)
    try {
      if (isBinary) this.#events.binary(data)
      else this.#events.text(data)
    } catch (error) {
      // A throw in a socket callback would end the thread and with it other calls.
      this.#events.internalError(error)
    }
  }

  #sendPing(): void {
    this.#ping = (this.#ping + 1) >>> 0
    this.#confirmation.ask(this.#clock.now())
    const number = Buffer.alloc(4)
    number.writeUInt32BE(this.#ping)
    this.#ws.ping(number)
  }

  #keepAlive(): void {
    this.#scope.after(this.#clock, KEEPALIVE_MS, () => {
      if (!this.open) return
      if (this.#missedPongs >= MAX_MISSED_KEEPALIVES) {
        this.#ws.terminate()
        return
      }
      this.#missedPongs++
      if (!this.#confirmation.pending) this.#sendPing()
      this.#keepAlive()
    })
  }

  #closed(code: number): void {
    if (this.#dead) return
    this.#dead = true
    this.#scope.close().catch((error: unknown) => this.#events.internalError(error))
    this.#events.closed(code)
  }
}
