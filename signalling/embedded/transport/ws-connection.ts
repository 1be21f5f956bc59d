import { isUtf8 } from 'node:buffer'
import type { RawData, WebSocket } from 'ws'
import type { Timer } from '../../../media/base/clock.js'
import { Connection, type ConnectionSettings } from './connection.js'
import type { SocketAddress, Transport } from './transport.js'

/** Close code of RFC 6455 7.4.1. */
const GOING_AWAY = 1001

/** Error code of the ws library for a message above `maxPayload`. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'

/** Maximum number of messages queued until the connection is open. */
const MAX_WAITING = 64

const PING = '\r\n\r\n'
const PONG = Buffer.from('\r\n')

/** One WebSocket, which carries one SIP message per WebSocket message (RFC 7118 5). */
export class WsConnection extends Connection {
  readonly protocol: 'ws' | 'wss'
  readonly #socket: WebSocket
  /** Messages queued until the connection is open; null afterwards. */
  #queue: Buffer[] | null
  #timer: Timer | null = null
  #open = true
  #pongReceived = true

  constructor(
    transport: Transport,
    protocol: 'ws' | 'wss',
    settings: ConnectionSettings,
    socket: WebSocket,
    remote: SocketAddress,
    onClose: () => void,
  ) {
    super(transport, settings, remote, onClose)
    const { log, clock, timers } = settings
    this.protocol = protocol
    this.#socket = socket
    this.#queue = socket.readyState === socket.CONNECTING ? [] : null
    socket.on('message', (data) => this.#received(bytesOf(data)))
    socket.on('pong', () => {
      this.#pongReceived = true
    })
    socket.on('error', (error) => {
      log.debug({ error: error.message, remote }, 'sip.websocket_error')
      // The library closes with 1009 by itself, before a response is possible.
      if ('code' in error && error.code === TOO_LARGE) {
        settings.events.onBadStream(513, 'Message Too Large', null, this)
      }
    })
    socket.on('close', () => {
      this.#open = false
      this.#timer?.cancel()
      this.socketClosed()
    })
    if (this.#queue === null) {
      this.#schedulePing()
      return
    }
    this.#timer = clock.after(timers.connect, () => socket.terminate())
    socket.on('open', () => {
      const queued = this.#queue ?? []
      this.#queue = null
      this.#timer?.cancel()
      this.#schedulePing()
      for (const bytes of queued) this.send(bytes)
    })
  }

  get open(): boolean {
    const { readyState, OPEN, CONNECTING } = this.#socket
    return this.#open && (readyState === OPEN || readyState === CONNECTING)
  }

  send(bytes: Buffer): boolean {
    if (!this.open) return false
    if (this.#queue !== null) {
      if (this.#queue.length >= MAX_WAITING) return false
      this.#queue.push(bytes)
      return true
    }
    if (this.#socket.bufferedAmount > this.settings.limits.connectionBacklogBytes) {
      this.#socket.terminate()
      return false
    }
    // SIP stacks in browsers expect text; a message that is not UTF-8 must be binary.
    this.#socket.send(bytes, { binary: !isUtf8(bytes) })
    return true
  }

  destroy(): void {
    this.#open = false
    this.#timer?.cancel()
    this.#socket.terminate()
  }

  #received(bytes: Buffer): void {
    if (!this.#open) return
    if (bytes.length <= 4) {
      const text = bytes.toString('latin1')
      if (text === PING) this.#answerKeepAlive()
      if (text === PING || bytes.equals(PONG)) return
    }
    this.settings.events.onMessage(bytes, this)
  }

  /** A peer that does not read gets no further answer, so that nothing piles up. */
  #answerKeepAlive(): void {
    if (this.#socket.bufferedAmount === 0 && this.settings.events.admitKeepAlive(this)) this.send(PONG)
  }

  /** A browser that vanished sends no FIN; unanswered pings reveal it (RFC 7118 6). */
  #schedulePing(): void {
    const { clock, timers } = this.settings
    this.#timer = clock.after(timers.keepAlive, () => {
      if (!this.#pongReceived) {
        this.#socket.close(GOING_AWAY)
        this.#socket.terminate()
        return
      }
      this.#pongReceived = false
      this.#socket.ping()
      this.#schedulePing()
    })
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}
