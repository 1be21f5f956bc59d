import { connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import { ConnectionTransport, type ConnectionTransportSettings, listenOn } from './connection-transport.js'
import { StreamConnection } from './stream-connection.js'
import type { SocketAddress, Transport } from './transport.js'

/** Listens for TCP or TLS connections and opens connections to peers. */
export async function openStreamTransport(settings: ConnectionTransportSettings): Promise<Transport> {
  const { tls, timers } = settings
  const socketOptions = { noDelay: true, keepAlive: true } as const
  const server =
    tls === null
      ? createServer(socketOptions)
      : createTlsServer({ ...socketOptions, ...tls.server, handshakeTimeout: timers.connect })
  return new StreamTransport(settings, server, await listenOn(server, settings))
}

class StreamTransport extends ConnectionTransport<StreamConnection> {
  readonly protocol: 'tcp' | 'tls'

  constructor(settings: ConnectionTransportSettings, server: Server, port: number) {
    super(settings, server, port)
    this.protocol = settings.tls === null ? 'tcp' : 'tls'
    server.on('secureConnection', (socket) => this.#accept(socket))
  }

  protected override onAdmitted(socket: Socket): void {
    if (this.protocol === 'tcp') this.#accept(socket)
  }

  protected connect(remote: SocketAddress, name: string): StreamConnection {
    const options = {
      host: remote.address,
      port: remote.port,
      noDelay: true,
      keepAlive: true,
      ...this.connectOptions(name),
    }
    return this.protocol === 'tcp'
      ? this.#add(connect(options), remote, name, 'connect')
      : this.#add(tlsConnect(options), remote, name, 'secureConnect')
  }

  #accept(socket: Socket): void {
    const { remoteAddress: address, remotePort: port } = socket
    if (address === undefined || port === undefined || this.full) socket.destroy()
    else this.#add(socket, { address, port }, null, null)
  }

  #add(
    socket: Socket,
    remote: SocketAddress,
    name: string | null,
    readyEvent: 'connect' | 'secureConnect' | null,
  ): StreamConnection {
    return this.add(
      remote,
      name,
      (onClose) =>
        new StreamConnection(this, this.protocol, this.settings, socket, remote, readyEvent, onClose),
    )
  }
}
