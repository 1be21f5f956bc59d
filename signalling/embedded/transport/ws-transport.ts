import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
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

class WsTransport extends ConnectionTransport<WsConnection> {
  readonly protocol: 'ws' | 'wss'
  readonly #upgrades: WebSocketServer

  constructor(settings: ConnectionTransportSettings, server: Server, port: number) {
    super(settings, server, port)
    this.protocol = settings.tls === null ? 'ws' : 'wss'
    this.#upgrades = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: settings.limits.messageBytes,
      handleProtocols: () => SUBPROTOCOL,
    })
    server.on('request', (_request, response) => {
      response.writeHead(426, { Upgrade: 'websocket', Connection: 'close' })
      response.end('SIP over WebSocket only.\n')
    })
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  protected connect(remote: SocketAddress, name: string): WsConnection {
    const { timers, limits } = this.settings
    const url = `${this.protocol}://${hostText(remote.address)}:${remote.port}/`
    const socket = new WebSocket(url, SUBPROTOCOL, {
      perMessageDeflate: false,
      maxPayload: limits.messageBytes,
      handshakeTimeout: timers.connect,
      ...this.connectOptions(name),
    })
    return this.#add(socket, remote, name)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim())
    const { remoteAddress: address, remotePort: port } = request.socket
    const status = this.full ? 503 : 400
    // Node's HTTP server listens for errors no longer, and an error that nobody takes ends the process.
    socket.on('error', () => socket.destroy())
    if (status === 503 || !offered.includes(SUBPROTOCOL) || address === undefined || port === undefined) {
      const reason = status === 503 ? 'Service Unavailable' : 'Bad Request'
      // The sockets of an HTTP server stay half open, so that the peer alone could keep one for ever.
      socket.once('finish', () => socket.destroy())
      socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    this.#upgrades.handleUpgrade(request, socket, head, (accepted) => {
      this.#add(accepted, { address, port }, null)
    })
  }

  #add(socket: WebSocket, remote: SocketAddress, name: string | null): WsConnection {
    return this.add(
      remote,
      name,
      (onClose) => new WsConnection(this, this.protocol, this.settings, socket, remote, onClose),
    )
  }
}
