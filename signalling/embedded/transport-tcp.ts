import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { Limits } from './limits.js'
import { bestAddress, interfaceAddresses, isWildcard } from './local-address.js'
import { StreamFramer } from './stream-framer.js'
import type { Timers } from './timers.js'
import { type Endpoint, endpointKey, type Flow, type Transport, type TransportEvents } from './transport.js'

export interface TcpSettings {
  readonly address: string
  readonly port: number
  readonly family: 4 | 6
  readonly advertise: string | null
  readonly events: TransportEvents
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
}

const PONG = Buffer.from('\r\n')

export async function openTcpTransport(settings: TcpSettings): Promise<Transport> {
  const server = createServer({ noDelay: true, keepAlive: true })
  const ready = once(server, 'listening')
  server.listen({ host: settings.address, port: settings.port, ipv6Only: settings.family === 6 })
  await ready
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : settings.port
  return new TcpTransport(settings, server, port)
}

class TcpTransport implements Transport {
  readonly protocol = 'tcp'
  readonly family: 4 | 6
  readonly bound: Endpoint
  readonly settings: TcpSettings
  readonly #server: Server
  readonly #connections = new Map<string, TcpConnection>()
  readonly #candidates: readonly string[]
  #closed = false

  constructor(settings: TcpSettings, server: Server, port: number) {
    this.settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#server = server
    this.#candidates = isWildcard(settings.address) ? interfaceAddresses(settings.family) : []
    server.on('connection', (socket) => this.#accept(socket))
    server.on('error', (error) => settings.log.warn({ error: error.message }, 'SIP listener error'))
  }

  advertised(peerAddress: string): Endpoint {
    const address = this.settings.advertise ?? bestAddress(this.#candidates, peerAddress)
    return { address: address ?? this.bound.address, port: this.bound.port }
  }

  /** An open connection with that peer, whoever made it, or a new one. */
  flowTo(remote: Endpoint): Flow {
    const existing = this.#connections.get(endpointKey(remote))
    if (existing?.open) return existing
    const socket = connect({
      host: remote.address,
      port: remote.port,
      noDelay: true,
      keepAlive: true,
      ...(isWildcard(this.bound.address) ? {} : { localAddress: this.bound.address }),
    })
    return this.#add(socket, remote, true)
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress
    const port = socket.remotePort
    if (
      address === undefined ||
      port === undefined ||
      this.#connections.size >= this.settings.limits.connections
    ) {
      socket.destroy()
      return
    }
    this.#add(socket, { address, port }, false)
  }

  #add(socket: Socket, remote: Endpoint, connecting: boolean): TcpConnection {
    const key = endpointKey(remote)
    const connection = new TcpConnection(this, socket, remote, connecting, () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key)
    })
    this.#connections.set(key, connection)
    if (this.#closed) connection.destroy()
    return connection
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const connection of [...this.#connections.values()]) connection.destroy()
    await closed
  }
}

class TcpConnection implements Flow {
  readonly protocol = 'tcp'
  readonly reliable = true
  readonly transport: TcpTransport
  readonly remote: Endpoint
  readonly #socket: Socket
  readonly #framer: StreamFramer
  readonly #watchers = new Set<() => void>()
  #deadline: Timer | null = null
  #open = true

  constructor(
    transport: TcpTransport,
    socket: Socket,
    remote: Endpoint,
    connecting: boolean,
    gone: () => void,
  ) {
    const { events, limits, log, clock, timers } = transport.settings
    this.transport = transport
    this.remote = remote
    this.#socket = socket
    this.#framer = new StreamFramer(limits, {
      onMessage: (bytes) => events.onMessage(bytes, this),
      onKeepAlive: () => this.send(PONG),
      onBad: (status, reason, head) => {
        events.onBadStream(status, reason, head, this)
        this.#open = false
        socket.end()
        this.#arm(timers.connect)
      },
    })
    socket.on('data', (chunk) => {
      this.#framer.push(chunk)
      // A message that was begun has to end; an idle connection may stay.
      if (!this.#open) return
      if (!this.#framer.partial) this.#disarm()
      else if (this.#deadline === null) this.#arm(timers.partialMessage)
    })
    socket.on('error', (error) => log.debug({ error: error.message }, 'SIP connection error'))
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      this.#open = false
      this.#disarm()
      gone()
      for (const watcher of [...this.#watchers]) watcher()
      this.#watchers.clear()
    })
    if (connecting) {
      this.#deadline = clock.after(timers.connect, () => socket.destroy())
      socket.on('connect', () => this.#disarm())
    }
  }

  get open(): boolean {
    return this.#open && !this.#socket.destroyed
  }

  send(bytes: Buffer): boolean {
    if (!this.open) return false
    if (this.#socket.writableLength > this.transport.settings.limits.connectionBacklogBytes) {
      this.#socket.destroy()
      return false
    }
    this.#socket.write(bytes)
    return true
  }

  watch(broken: () => void): () => void {
    this.#watchers.add(broken)
    return () => {
      this.#watchers.delete(broken)
    }
  }

  destroy(): void {
    this.#open = false
    this.#disarm()
    this.#socket.destroy()
  }

  #arm(ms: number): void {
    this.#disarm()
    this.#deadline = this.transport.settings.clock.after(ms, () => this.#socket.destroy())
  }

  #disarm(): void {
    this.#deadline?.cancel()
    this.#deadline = null
  }
}
