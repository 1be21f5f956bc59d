import { once } from 'node:events'
import { isIP, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorText } from '../../../media/base/errors.js'
import { type AddressSettings, AdvertisedAddress } from './advertised-address.js'
import type { Connection, ConnectionSettings } from './connection.js'
import { ConnectionTable } from './connection-table.js'
import { isWildcard } from './local-address.js'
import type { TlsContext } from './tls-context.js'
import { closedFlow, type Flow, type Protocol, type SocketAddress, type Transport } from './transport.js'

export interface ConnectionTransportSettings extends AddressSettings, ConnectionSettings {
  readonly port: number
  /** Null for a transport in clear text. */
  readonly tls: TlsContext | null
}

/** Starts listening at the address of the settings. Returns the bound port. */
export async function listenOn(server: Server, settings: ConnectionTransportSettings): Promise<number> {
  server.maxConnections = settings.limits.connections
  const ready = once(server, 'listening')
  server.listen({ host: settings.address, port: settings.port, ipv6Only: settings.family === 6 })
  await ready
  const bound = server.address()
  return bound !== null && typeof bound === 'object' ? bound.port : settings.port
}

/** A listening address of a connection-oriented transport, with its connections. */
export abstract class ConnectionTransport<C extends Connection> implements Transport {
  abstract readonly protocol: Protocol
  readonly family: 4 | 6
  readonly bound: SocketAddress
  protected readonly settings: ConnectionTransportSettings
  /** Null when another server accepts the connections. */
  readonly #server: Server | null
  readonly #address: AdvertisedAddress
  readonly #connections: ConnectionTable<C>
  /** All accepted sockets, because those in their handshake have to be closed too. */
  readonly #sockets = new Set<Duplex>()
  #closed = false

  constructor(settings: ConnectionTransportSettings, server: Server | null, port: number) {
    const { log, tls } = settings
    this.settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#server = server
    this.#address = new AdvertisedAddress(settings, port)
    this.#connections = new ConnectionTable(tls !== null)
    server?.on('error', (error) => log.warn({ error: error.message }, 'sip.listener_error'))
    server?.on('connection', (socket) => {
      if (this.admit(socket)) this.onAdmitted(socket)
    })
    server?.on('tlsClientError', (error: Error, socket: Socket) => {
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
    const existing = this.#connections.find(remote, name)
    if (existing !== null) return existing
    try {
      return this.connect(remote, name)
    } catch (error) {
      // Node and the WebSocket library throw at once for an address that they cannot use.
      this.settings.log.warn({ error: errorText(error), remote }, 'sip.connect_failed')
      return closedFlow(this, remote)
    }
  }

  connectionWith(remote: SocketAddress): Flow | null {
    return this.#connections.find(remote, remote.address)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const server = this.#server
    const closed = new Promise<void>((resolve) => {
      if (server === null) resolve()
      else server.close(() => resolve())
    })
    this.#connections.destroyAll()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** True if no further connection can be accepted. */
  protected get full(): boolean {
    return this.#closed || this.#connections.size >= this.settings.limits.connections
  }

  /** Counts an accepted socket until it closes. Returns false for a rejected one, which has been destroyed. */
  protected admit(socket: Socket): boolean {
    if (!this.settings.events.admitConnection(socket)) return false
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    return true
  }

  /** Opens a connection to a peer. */
  protected abstract connect(remote: SocketAddress, name: string): C

  /** Handles an admitted socket, before any handshake. */
  protected onAdmitted(_socket: Socket): void {}

  /** Adds a connection to the table. `name` is null for an accepted one. */
  protected add(remote: SocketAddress, name: string | null, create: (onClose: () => void) => C): C {
    const connection: C = create(() => remove())
    const remove = this.#connections.add(remote, name, connection)
    if (this.#closed) connection.destroy()
    return connection
  }

  /** Returns the socket options of a connection to a peer that has to prove `name` over TLS. */
  protected connectOptions(name: string) {
    const { tls } = this.settings
    return {
      ...(isWildcard(this.bound.address) ? {} : { localAddress: this.bound.address }),
      ...tls?.client,
      // SNI carries names only (RFC 6066 3). Without one Node checks the certificate against `host`.
      ...(tls !== null && isIP(name) === 0 ? { servername: name } : {}),
    }
  }
}
