import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { Limits } from '../limits.js'
import type { Timers } from '../transaction/timers.js'
import { StreamFramer } from './stream-framer.js'
import type { Flow, SocketAddress, Transport, TransportEvents } from './transport.js'

export interface ConnectionSettings {
  readonly events: TransportEvents
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
}

const PING = Buffer.from('\r\n\r\n')
const PONG = Buffer.from('\r\n')

/** One TCP or TLS connection, whoever opened it. */
export class StreamConnection implements Flow {
  readonly protocol: 'tcp' | 'tls'
  readonly reliable = true
  readonly transport: Transport
  readonly remote: SocketAddress
  readonly #settings: ConnectionSettings
  readonly #socket: Socket
  readonly #framer: StreamFramer
  readonly #watchers = new Set<() => void>()
  #deadline: Timer | null = null
  #keepAlive: Timer | null = null
  #open = true
  /** Whether a message has come: until then the deadline is for the first one. */
  #spoke: boolean
  /** Whether the beginning of a message waits for its rest. */
  #collecting = false

  /**
   * `ready` is the socket's event that ends the set-up of a connection of ours, null for one that
   * was accepted; `gone` is called once, when the socket has closed.
   */
  constructor(
    transport: Transport,
    protocol: 'tcp' | 'tls',
    settings: ConnectionSettings,
    socket: Socket,
    remote: SocketAddress,
    ready: 'connect' | 'secureConnect' | null,
    gone: () => void,
  ) {
    const { events, limits, log, clock, timers } = settings
    this.transport = transport
    this.protocol = protocol
    this.remote = remote
    this.#settings = settings
    this.#socket = socket
    this.#spoke = ready !== null
    this.#framer = new StreamFramer(limits, {
      onMessage: (bytes) => {
        this.#spoke = true
        events.onMessage(bytes, this)
      },
      onKeepAlive: () => this.send(PONG),
      onError: (status, reason, head) => {
        events.onBadStream(status, reason, head, this)
        this.#open = false
        socket.end()
        this.#arm(timers.connect)
      },
    })
    socket.on('data', (chunk) => this.#received(chunk))
    socket.on('error', (error) => log.debug({ error: error.message, remote }, 'SIP connection error'))
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      this.#open = false
      this.#disarm()
      this.#keepAlive?.cancel()
      gone()
      for (const watcher of [...this.#watchers]) watcher()
      this.#watchers.clear()
    })
    if (ready === null) {
      this.#arm(timers.firstMessage)
      return
    }
    this.#deadline = clock.after(timers.connect, () => socket.destroy())
    socket.on(ready, () => {
      this.#disarm()
      this.#beat()
    })
  }

  get open(): boolean {
    return this.#open && !this.#socket.destroyed
  }

  send(bytes: Buffer): boolean {
    if (!this.open) return false
    if (this.#socket.writableLength > this.#settings.limits.connectionBacklogBytes) {
      this.#socket.destroy()
      return false
    }
    this.#socket.write(bytes)
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
    this.#disarm()
    this.#keepAlive?.cancel()
    this.#socket.destroy()
  }

  #received(chunk: Buffer): void {
    this.#framer.push(chunk)
    // A message that was begun has to end; an idle connection may stay, once it was good for something.
    if (!this.#open) return
    if (!this.#framer.partial) {
      this.#collecting = false
      if (this.#spoke) this.#disarm()
    } else if (!this.#collecting) {
      this.#collecting = true
      this.#arm(this.#settings.timers.partialMessage)
    }
  }

  /** Whoever opened the connection keeps the NATs on its way awake (RFC 5626 3.5.1). */
  #beat(): void {
    const { clock, timers } = this.#settings
    this.#keepAlive = clock.after(timers.keepAlive, () => {
      if (this.send(PING)) this.#beat()
    })
  }

  #arm(ms: number): void {
    this.#disarm()
    this.#deadline = this.#settings.clock.after(ms, () => this.#socket.destroy())
  }

  #disarm(): void {
    this.#deadline?.cancel()
    this.#deadline = null
  }
}
