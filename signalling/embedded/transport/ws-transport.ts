import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { hostText } from '../message/sip-header.js'
import { type AddressSettings, AdvertisedAddress } from './advertised-address.js'
import { ConnectionTable } from './connection-table.js'
import { isWildcard } from './local-address.js'
import type { ConnectionSettings } from './stream-connection.js'
import type { TlsContext } from './tls-context.js'
import type { Flow, SocketAddress, Transport } from './transport.js'
import { WsConnection } from './ws-connection.js'

export interface WsSettings extends AddressSettings, ConnectionSettings {
  readonly port: number
  /** Null for plain WebSockets. */
  readonly tls: TlsContext | null
}

/** The subprotocol that both sides have to name (RFC 7118 4). */
const SUBPROTOCOL = 'sip'

/** Maximum size (bytes) of the headers of an upgrade request; browsers send cookies. */
const MAX_HEAD_BYTES = 16_384

/** Listens for SIP over WebSocket (RFC 7118), plain or over TLS. Any request path is accepted. */
export async function openWsTransport(settings: WsSettings): Promise<Transport> {
  const { tls, timers, limits } = settings
  const options = {
    noDelay: true,
    keepAlive: true,
    headersTimeout: timers.connect,
    requestTimeout: timers.connect,
    maxHeaderSize: MAX_HEAD_BYTES,
  }
  const server: Server =
    tls === null
      ? createServer(options)
      : createHttpsServer({ ...options, ...tls.server, handshakeTimeout: timers.connect })
  server.maxConnections = limits.connections
  const ready = once(server, 'listening')
  server.listen({ host: settings.address, port: settings.port, ipv6Only: settings.family === 6 })
  await ready
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : settings.port
  return new WsTransport(settings, server, port)
}

class WsTransport implements Transport {
  readonly protocol: 'ws' | 'wss'
  readonly family: 4 | 6
  readonly bound: SocketAddress
  readonly #settings: WsSettings
  readonly #server: Server
  readonly #upgrades: WebSocketServer
  readonly #address: AdvertisedAddress
  readonly #connections: ConnectionTable<WsConnection>
  /** All TCP connections, because those that never became a WebSocket have to be closed too. */
  readonly #sockets = new Set<Duplex>()
  #closed = false

  constructor(settings: WsSettings, server: Server, port: number) {
    const { log, tls, limits } = settings
    this.protocol = tls === null ? 'ws' : 'wss'
    this.#settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#server = server
    this.#address = new AdvertisedAddress(settings, port)
    this.#connections = new ConnectionTable(tls !== null)
    this.#upgrades = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.messageBytes,
      handleProtocols: () => SUBPROTOCOL,
    })
    server.on('error', (error) => log.warn({ error: error.message }, 'sip.listener_error'))
    server.on('connection', (socket) => {
      if (!settings.events.admitConnection(socket)) return
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('tlsClientError', (error) => log.debug({ error: error.message }, 'sip.tls_handshake_failed'))
    server.on('request', (_request, response) => {
      response.writeHead(426, { Upgrade: 'websocket', Connection: 'close' })
      response.end('SIP over WebSocket only.\n')
    })
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  advertised(peerAddress: string): SocketAddress {
    return this.#address.forPeer(peerAddress)
  }

  isLocalPeer(peerAddress: string): boolean {
    return this.#address.inLocalNetwork(peerAddress)
  }

  flowTo(remote: SocketAddress, name: string): Flow {
    const existing = this.#connections.find(remote, name)
    if (existing !== null) return existing
    const { tls, timers, limits } = this.#settings
    const secure = tls !== null
    const socket = new WebSocket(
      `${secure ? 'wss' : 'ws'}://${hostText(remote.address)}:${remote.port}/`,
      SUBPROTOCOL,
      {
        perMessageDeflate: false,
        maxPayload: limits.messageBytes,
        handshakeTimeout: timers.connect,
        ...(isWildcard(this.bound.address) ? {} : { localAddress: this.bound.address }),
        ...(secure ? tls.client : {}),
        ...(secure && isIP(name) === 0 ? { servername: name } : {}),
      },
    )
    return this.#add(socket, remote, name)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim())
    const { remoteAddress: address, remotePort: port } = request.socket
    const { limits } = this.#settings
    const status = this.#closed || this.#connections.size >= limits.connections ? 503 : 400
    if (status === 503 || !offered.includes(SUBPROTOCOL) || address === undefined || port === undefined) {
      const reason = status === 503 ? 'Service Unavailable' : 'Bad Request'
      socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    this.#upgrades.handleUpgrade(request, socket, head, (accepted) => {
      this.#add(accepted, { address, port }, null)
    })
  }

  #add(socket: WebSocket, remote: SocketAddress, name: string | null): WsConnection {
    const connection: WsConnection = new WsConnection(
      this,
      this.protocol,
      this.#settings,
      socket,
      remote,
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
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
