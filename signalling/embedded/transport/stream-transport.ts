import { once } from 'node:events'
import { connect, createServer, isIP, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import { type AddressSettings, AdvertisedAddress } from './advertised-address.js'
import { ConnectionTable } from './connection-table.js'
import { isWildcard } from './local-address.js'
import { type ConnectionSettings, StreamConnection } from './stream-connection.js'
import type { TlsContext } from './tls-context.js'
import type { Flow, SocketAddress, Transport } from './transport.js'

export interface StreamSettings extends AddressSettings, ConnectionSettings {
  readonly port: number
  /** Null for plain TCP. */
  readonly tls: TlsContext | null
}

/** Listens for TCP or TLS connections and opens connections to peers. */
export async function openStreamTransport(settings: StreamSettings): Promise<Transport> {
  const { tls, timers } = settings
  const socketOptions = { noDelay: true, keepAlive: true } as const
  const server =
    tls === null
      ? createServer(socketOptions)
      : createTlsServer({ ...socketOptions, ...tls.server, handshakeTimeout: timers.connect })
  server.maxConnections = settings.limits.connections
  const ready = once(server, 'listening')
  server.listen({ host: settings.address, port: settings.port, ipv6Only: settings.family === 6 })
  await ready
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : settings.port
  return new StreamTransport(settings, server, port)
}

class StreamTransport implements Transport {
  readonly protocol: 'tcp' | 'tls'
  readonly family: 4 | 6
  readonly bound: SocketAddress
  readonly #settings: StreamSettings
  readonly #server: Server
  readonly #address: AdvertisedAddress
  readonly #connections: ConnectionTable<StreamConnection>
  /** Sockets whose TLS handshake is not finished. */
  readonly #handshaking = new Set<Socket>()
  #closed = false

  constructor(settings: StreamSettings, server: Server, port: number) {
    const { log, tls } = settings
    this.protocol = tls === null ? 'tcp' : 'tls'
    this.#settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#server = server
    this.#address = new AdvertisedAddress(settings, port)
    this.#connections = new ConnectionTable(tls !== null)
    server.on('error', (error) => log.warn({ error: error.message }, 'sip.listener_error'))
    if (tls === null) {
      server.on('connection', (socket) => {
        if (settings.events.admitConnection(socket)) this.#accept(socket)
      })
      return
    }
    server.on('connection', (socket) => {
      if (!settings.events.admitConnection(socket)) return
      this.#handshaking.add(socket)
      socket.on('close', () => this.#handshaking.delete(socket))
    })
    server.on('secureConnection', (socket) => this.#accept(socket))
    server.on('tlsClientError', (error, socket) => {
      log.debug({ error: error.message, address: socket.remoteAddress }, 'sip.tls_handshake_failed')
      // Node does not destroy the socket when the handshake times out.
      socket.destroy()
    })
  }

  advertised(peerAddress: string): SocketAddress {
    return this.#address.forPeer(peerAddress)
  }

  isLocalPeer(peerAddress: string): boolean {
    return this.#address.inLocalNetwork(peerAddress)
  }

  /** Returns an open connection with the peer, or a new one. */
  flowTo(remote: SocketAddress, name: string): Flow {
    return this.#connections.find(remote, name) ?? this.#open(remote, name)
  }

  #open(remote: SocketAddress, name: string): Flow {
    const { tls } = this.#settings
    const options = {
      host: remote.address,
      port: remote.port,
      noDelay: true,
      keepAlive: true,
      ...(isWildcard(this.bound.address) ? {} : { localAddress: this.bound.address }),
    }
    if (tls === null) return this.#add(connect(options), remote, name, 'connect')
    // SNI carries names only (RFC 6066 3). Without one Node checks the certificate against `host`.
    const socket = tlsConnect({
      ...options,
      ...tls.client,
      ...(isIP(name) === 0 ? { servername: name } : {}),
    })
    return this.#add(socket, remote, name, 'secureConnect')
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress
    const port = socket.remotePort
    const full = this.#connections.size >= this.#settings.limits.connections
    if (address === undefined || port === undefined || full || this.#closed) {
      socket.destroy()
      return
    }
    this.#add(socket, { address, port }, null, null)
  }

  #add(
    socket: Socket,
    remote: SocketAddress,
    name: string | null,
    readyEvent: 'connect' | 'secureConnect' | null,
  ): StreamConnection {
    const connection: StreamConnection = new StreamConnection(
      this,
      this.protocol,
      this.#settings,
      socket,
      remote,
      readyEvent,
      () => remove(),
    )
    const remove = this.#connections.add(remote, name, connection)
    if (this.#closed) connection.destroy()
    return connection
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#connections.destroyAll()
    for (const socket of this.#handshaking) socket.destroy()
    await closed
  }
}
