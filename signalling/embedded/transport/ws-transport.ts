import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { EngineError } from '../../../media/base/errors.js'
import { hostText } from '../message/sip-header.js'
import { ConnectionTransport, type ConnectionTransportSettings, listenOn } from './connection-transport.js'
import type { SocketAddress, Transport } from './transport.js'
import { WsConnection } from './ws-connection.js'

/** The subprotocol that both sides have to name (RFC 7118 4). */
const SUBPROTOCOL = 'sip'

/** Maximum size (bytes) of the headers of an upgrade request; browsers send cookies. */
const MAX_HEAD_BYTES = 16_384

/** Listens for SIP over WebSocket (RFC 7118), plain or over TLS. Any request path is accepted. */
export async function openWsTransport(settings: ConnectionTransportSettings): Promise<Transport> {
  const { tls, timers } = settings
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
  return new WsTransport(settings, server, await listenOn(server, settings))
}

/** A WebSocket handshake that another HTTP server received. */
export interface WsUpgrade {
  readonly request: IncomingMessage
  readonly head: Buffer
  /** The peer, which a reverse proxy may hide from the socket. */
  readonly remote: SocketAddress
}

/** SIP over WebSocket at a server that does not belong to us. It opens no connections itself. */
export interface WsEntrance extends Transport {
  /** Takes over the socket of a handshake, or closes it with an error. The socket has a listener for errors. */
  accept(upgrade: WsUpgrade): void
}

/** Opens a transport whose connections another HTTP server accepts at the address of the settings. */
export function openWsEntrance(settings: ConnectionTransportSettings): WsEntrance {
  return new WsTransport(settings, null, settings.port)
}

class WsTransport extends ConnectionTransport<WsConnection> {
  readonly protocol: 'ws' | 'wss'
  readonly #upgrades: WebSocketServer
  readonly #dials: boolean

  constructor(settings: ConnectionTransportSettings, server: Server | null, port: number) {
    super(settings, server, port)
    this.#dials = server !== null
    this.protocol = settings.tls === null ? 'ws' : 'wss'
    this.#upgrades = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: settings.limits.messageBytes,
      handleProtocols: () => SUBPROTOCOL,
    })
    server?.on('request', (_request, response) => {
      response.writeHead(426, { Upgrade: 'websocket', Connection: 'close' })
      response.end('SIP over WebSocket only.\n')
    })
    server?.on('upgrade', (request, socket, head) => {
      // Node's HTTP server listens for errors no longer, and an error without a listener ends the process.
      socket.on('error', () => socket.destroy())
      const { remoteAddress: address = '', remotePort: port = 0 } = request.socket
      this.#upgrade({ request, head, remote: { address, port } }, socket)
    })
  }

  protected connect(remote: SocketAddress, name: string): WsConnection {
    const { timers, limits } = this.settings
    if (!this.#dials) throw new EngineError('sip_failed', 'no connection of this peer is open')
    const url = `${this.protocol}://${hostText(remote.address)}:${remote.port}/`
    const socket = new WebSocket(url, SUBPROTOCOL, {
      perMessageDeflate: false,
      maxPayload: limits.messageBytes,
      handshakeTimeout: timers.connect,
      ...this.connectOptions(name),
    })
    return this.#add(socket, remote, name)
  }

  accept(upgrade: WsUpgrade): void {
    const { socket } = upgrade.request
    if (this.admit(socket)) this.#upgrade(upgrade, socket)
  }

  #upgrade({ request, head, remote }: WsUpgrade, socket: Duplex): void {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim())
    const status = this.full ? 503 : 400
    if (status === 503 || !offered.includes(SUBPROTOCOL) || remote.address === '') {
      const reason = status === 503 ? 'Service Unavailable' : 'Bad Request'
      // The sockets of an HTTP server stay half open, so that the peer alone could keep one for ever.
      socket.once('finish', () => socket.destroy())
      socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    this.#upgrades.handleUpgrade(request, socket, head, (accepted) => this.#add(accepted, remote, null))
  }

  #add(socket: WebSocket, remote: SocketAddress, name: string | null): WsConnection {
    return this.add(
      remote,
      name,
      (onClose) => new WsConnection(this, this.protocol, this.settings, socket, remote, onClose),
    )
  }
}
