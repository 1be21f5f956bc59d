import { isUtf8 } from 'node:buffer'
import type { RawData, WebSocket } from 'ws'
import type { Timer } from '../../../media/base/clock.js'
import type { ConnectionSettings } from './stream-connection.js'
import type { Flow, SocketAddress, Transport } from './transport.js'

/** RFC 6455 7.4.1. */
const GOING_AWAY = 1001

/** ws: a message above `maxPayload`. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'

/** Messages that may wait for the connection to open. */
const MAX_WAITING = 64

const PING = '\r\n\r\n'
const PONG = '\r\n'

/** One WebSocket, a SIP message a WebSocket message (RFC 7118 5). */
export class WsConnection implements Flow {
  readonly protocol: 'ws' | 'wss'
  readonly reliable = true
  readonly transport: Transport
  readonly remote: SocketAddress
  readonly #settings: ConnectionSettings
  readonly #socket: WebSocket
  readonly #watchers = new Set<() => void>()
  /** Until the connection stands; null afterwards. */
  #waiting: Buffer[] | null
  #beat: Timer | null = null
  #open = true
  #alive = true

  constructor(
    transport: Transport,
    protocol: 'ws' | 'wss',
    settings: ConnectionSettings,
    socket: WebSocket,
    remote: SocketAddress,
    gone: () => void,
  ) {
    const { log, clock, timers } = settings
    this.transport = transport
    this.protocol = protocol
    this.remote = remote
    this.#settings = settings
    this.#socket = socket
    this.#waiting = socket.readyState === socket.CONNECTING ? [] : null
    socket.on('message', (data) => this.#received(bytesOf(data)))
    socket.on('pong', () => {
      this.#alive = true
    })
    socket.on('error', (error) => {
      log.debug({ error: error.message, remote }, 'SIP WebSocket error')
      // The library closes with 1009 by itself, before there is anything to answer.
      if ('code' in error && error.code === TOO_LARGE) {
        settings.events.onBadStream(513, 'Message Too Large', null, this)
      }
    })
    socket.on('close', () => {
      this.#open = false
      this.#beat?.cancel()
      gone()
      for (const watcher of [...this.#watchers]) watcher()
      this.#watchers.clear()
    })
    if (this.#waiting === null) {
      this.#watchLife()
      return
    }
    this.#beat = clock.after(timers.connect, () => socket.terminate())
    socket.on('open', () => {
      const waiting = this.#waiting ?? []
      this.#waiting = null
      this.#beat?.cancel()
      this.#watchLife()
      for (const bytes of waiting) this.send(bytes)
    })
  }

  get open(): boolean {
    const { readyState, OPEN, CONNECTING } = this.#socket
    return this.#open && (readyState === OPEN || readyState === CONNECTING)
  }

  send(bytes: Buffer): boolean {
    if (!this.open) return false
    if (this.#waiting !== null) {
      if (this.#waiting.length >= MAX_WAITING) return false
      this.#waiting.push(bytes)
      return true
    }
    if (this.#socket.bufferedAmount > this.#settings.limits.connectionBacklogBytes) {
      this.#socket.terminate()
      return false
    }
    // Browsers' stacks expect text; a message that is no UTF-8 can only go as binary.
    this.#socket.send(bytes, { binary: !isUtf8(bytes) })
    return true
  }

  onBroken(broken: () => void): () => void {
    this.#watchers.add(broken)
    return () => {
      this.#watchers.delete(broken)
    }
  }

  destroy(): void {
    this.#open = false
    this.#beat?.cancel()
    this.#socket.terminate()
  }

  #received(bytes: Buffer): void {
    if (!this.#open) return
    if (bytes.length <= 4) {
      const text = bytes.toString('latin1')
      if (text === PING) this.#socket.send(PONG)
      if (text === PING || text === PONG) return
    }
    this.#settings.events.onMessage(bytes, this)
  }

  /** A browser that vanished leaves no FIN behind: unanswered pings tell (RFC 7118 6). */
  #watchLife(): void {
    const { clock, timers } = this.#settings
    this.#beat = clock.after(timers.keepAlive, () => {
      if (!this.#alive) {
        this.#socket.close(GOING_AWAY)
        this.#socket.terminate()
        return
      }
      this.#alive = false
      this.#socket.ping()
      this.#watchLife()
    })
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}
