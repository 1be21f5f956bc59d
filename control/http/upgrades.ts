import { IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Takes the WebSocket handshakes below one path. */
export interface UpgradeRoute {
  /** The path begins with this and has one further segment, which the route gets decoded. */
  readonly prefix: string
  /** Takes over the socket, which has a listener for errors. */
  accept(upgrade: Upgrade): void
  /** Closes every socket that it took over. Idempotent. */
  close(): void
}

export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly segment: string
}

/**
 * A request whose `upgrade` is true for WebSocket only. Others may go on in HTTP/1.1 (RFC 9110, 7.8), as clients
 * expect that offer `h2c` with each request; Node would take those for upgrades too as soon as there is a listener
 * for upgrades.
 */
export class HttpRequest extends IncomingMessage {
  // No private name: the constructor of the base class uses the setter before those exist.
  private offered: boolean | null = null

  // Node's parser sets it before the headers, and reads it after them.
  set upgrade(value: boolean | null) {
    this.offered = value
  }

  get upgrade(): boolean | null {
    const { method, headers } = this
    if (this.offered !== true || method === 'CONNECT') return this.offered
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
  }
}

/** Passes a handshake to its route, or refuses it. */
export function routeUpgrade(
  routes: readonly UpgradeRoute[],
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  // Node's HTTP server listens for errors no longer, and an error without a listener ends the process.
  socket.on('error', () => socket.destroy())
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  for (const route of routes) {
    if (!path.startsWith(route.prefix)) continue
    const segment = decoded(path.slice(route.prefix.length))
    if (segment === null) break
    route.accept({ request, socket, head, segment })
    return
  }
  refuseUpgrade(socket, 404)
}

/** Answers a handshake with an error, and closes the connection. */
export function refuseUpgrade(socket: Duplex, status: 400 | 403 | 404 | 503): void {
  // The sockets of an HTTP server stay half open, so that the peer alone could keep one for ever.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

function decoded(segment: string): string | null {
  try {
    const text = decodeURIComponent(segment)
    return text === '' || segment.includes('/') ? null : text
  } catch {
    return null
  }
}
