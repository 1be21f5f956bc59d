import type { Socket } from 'node:net'
import type { Timer } from '../../../media/base/clock.js'
import { Connection, type ConnectionSettings } from './connection.js'
import { StreamFramer } from './stream-framer.js'
import type { SocketAddress, Transport } from './transport.js'

const PING = Buffer.from('\r\n\r\n')
const PONG = Buffer.from('\r\n')

/** One TCP or TLS connection. */
export class StreamConnection extends Connection {
  readonly protocol: 'tcp' | 'tls'
  readonly #socket: Socket
  readonly #framer: StreamFramer
  #deadline: Timer | null = null
  #keepAlive: Timer | null = null
  #open = true
  /** True if a message arrived; before the first one the deadline applies. */
  #messageReceived: boolean
  /** True if an incomplete message is buffered. */
  #partial = false

  /** `readyEvent` is the socket event that completes an outgoing connection, null for an accepted one. */
  constructor(
    transport: Transport,
    protocol: 'tcp' | 'tls',
    settings: ConnectionSettings,
    socket: Socket,
    remote: SocketAddress,
    readyEvent: 'connect' | 'secureConnect' | null,
    onClose: () => void,
  ) {
    super(transport, settings, remote, onClose)
    const { events, limits, log, clock, timers } = settings
    this.protocol = protocol
    this.#socket = socket
    this.#messageReceived = readyEvent !== null
    this.#framer = new StreamFramer(limits, {
      onMessage: (bytes) => {
        this.#messageReceived = true
        events.onMessage(bytes, this)
      },
      // A peer that does not read gets no further answer, so that nothing piles up.
      onKeepAlive: () => {
        if (socket.writableLength === 0 && events.admitKeepAlive(this)) this.send(PONG)
      },
      onError: (status, reason, head) => {
        events.onBadStream(status, reason, head, this)
        this.#open = false
        socket.end()
        this.#startDeadline(timers.connect)
      },
    })
    socket.on('data', (chunk) => this.#received(chunk))
    socket.on('error', (error) => log.debug({ error: error.message, remote }, 'sip.connection_error'))
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      this.#open = false
      this.#stopDeadline()
      this.#keepAlive?.cancel()
      this.socketClosed()
    })
    if (readyEvent === null) {
      this.#startDeadline(timers.firstMessage)
      return
    }
    this.#deadline = clock.after(timers.connect, () => socket.destroy())
    socket.on(readyEvent, () => {
      this.#stopDeadline()
      this.#scheduleKeepAlive()
    })
  }

  get open(): boolean {
    return this.#open && !this.#socket.destroyed
  }

  send(bytes: Buffer): boolean {
    if (!this.open) return false
    if (this.#socket.writableLength > this.settings.limits.connectionBacklogBytes) {
      this.#socket.destroy()
      return false
    }
    this.#socket.write(bytes)
    return true
  }

  destroy(): void {
    this.#open = false
    this.#stopDeadline()
    this.#keepAlive?.cancel()
    this.#socket.destroy()
  }

  #received(chunk: Buffer): void {
    this.#framer.push(chunk)
    // An incomplete message has a deadline. A connection that has carried a message may be idle.
    if (!this.#open) return
    if (!this.#framer.partial) {
      this.#partial = false
      if (this.#messageReceived) this.#stopDeadline()
    } else if (!this.#partial) {
      this.#partial = true
      this.#startDeadline(this.settings.timers.partialMessage)
    }
  }

  /** The side that opened the connection keeps NAT bindings alive (RFC 5626 3.5.1). */
  #scheduleKeepAlive(): void {
    const { clock, timers } = this.settings
    this.#keepAlive = clock.after(timers.keepAlive, () => {
      if (this.send(PING)) this.#scheduleKeepAlive()
    })
  }

  #startDeadline(ms: number): void {
    this.#stopDeadline()
    this.#deadline = this.settings.clock.after(ms, () => this.#socket.destroy())
  }

  #stopDeadline(): void {
    this.#deadline?.cancel()
    this.#deadline = null
  }
}
