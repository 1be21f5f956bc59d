import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import { Scope } from '../../../media/base/scope.js'
import type { Limits } from '../limits.js'
import type { Timers } from '../transaction/timers.js'
import { type AddressSettings, AdvertisedAddress } from './advertised-address.js'
import {
  type Flow,
  type SocketAddress,
  socketAddressKey,
  type Transport,
  type TransportEvents,
} from './transport.js'

export interface UdpSettings extends AddressSettings {
  readonly port: number
  readonly events: TransportEvents
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
}

/** Addresses are literals already: answering at once keeps sends synchronous and ordered. */
function socketOf(family: 4 | 6, shared: boolean): Socket {
  return createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    reuseAddr: shared,
    ipv6Only: family === 6,
    lookup: (host, _options, done) => done(null, host, family),
  })
}

async function bind(socket: Socket, address: string, port: number): Promise<number> {
  const ready = once(socket, 'listening')
  socket.bind({ address, port, exclusive: true })
  await ready
  return socket.address().port
}

/**
 * Binds a UDP listening address. The socket shares its port (SO_REUSEADDR) with the connected
 * sockets of `flowTo`, so a first, exclusive bind makes sure that nobody else has it.
 */
export async function openUdpTransport(settings: UdpSettings): Promise<Transport> {
  const probe = socketOf(settings.family, false)
  let port: number
  try {
    port = await bind(probe, settings.address, settings.port)
  } finally {
    await new Promise<void>((resolve) => probe.close(() => resolve()))
  }
  const socket = socketOf(settings.family, true)
  try {
    await bind(socket, settings.address, port)
  } catch (error) {
    socket.close()
    throw error
  }
  return new UdpTransport(settings, socket, port)
}

class UdpTransport implements Transport {
  readonly protocol = 'udp'
  readonly family: 4 | 6
  readonly bound: SocketAddress
  readonly settings: UdpSettings
  readonly #socket: Socket
  readonly #scope = new Scope()
  readonly #paths = new Map<string, UdpPath>()
  readonly #own: AdvertisedAddress
  #closed = false

  constructor(settings: UdpSettings, socket: Socket, port: number) {
    this.settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#socket = socket
    this.#own = new AdvertisedAddress(settings, port)
    this.receiveFrom(socket)
    socket.on('error', (error) => settings.log.warn({ error: error.message }, 'SIP socket error'))
    this.#scope.own(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  }

  advertised(peerAddress: string): SocketAddress {
    return this.#own.forPeer(peerAddress)
  }

  isLocalPeer(peerAddress: string): boolean {
    return this.#own.inLocalNetwork(peerAddress)
  }

  flowTo(remote: SocketAddress): Flow {
    const key = socketAddressKey(remote)
    const existing = this.#paths.get(key)
    if (existing) return existing
    if (this.#closed || (this.#paths.size >= this.settings.limits.connectedUdpSockets && !this.#evict())) {
      return new UdpReply(this, remote)
    }
    const path = new UdpPath(this, remote, this.#scope.child(), () => this.#paths.delete(key))
    this.#paths.set(key, path)
    return path
  }

  /** Makes room by dropping the path that has been quiet longest; false when all are in use. */
  #evict(): boolean {
    let quietest: UdpPath | null = null
    for (const path of this.#paths.values()) {
      if (!path.busy && (quietest === null || path.usedAt < quietest.usedAt)) quietest = path
    }
    quietest?.drop()
    return quietest !== null
  }

  /** Connected sockets see part of the incoming traffic: all of them feed the same handler. */
  receiveFrom(socket: Socket): void {
    socket.on('message', (bytes, peer) => {
      this.settings.events.onMessage(bytes, new UdpReply(this, peer))
    })
  }

  sendTo(bytes: Buffer, remote: SocketAddress, failed: (error: Error) => void): boolean {
    if (this.#closed) return false
    this.#socket.send(bytes, remote.port, remote.address, (error) => {
      if (error) failed(error)
    })
    return true
  }

  get closed(): boolean {
    return this.#closed
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#scope.close()
  }
}

/** Back to where a datagram came from, without news of its fate. */
class UdpReply implements Flow {
  readonly protocol = 'udp'
  readonly reliable = false
  readonly transport: UdpTransport
  readonly remote: SocketAddress

  constructor(transport: UdpTransport, remote: SocketAddress) {
    this.transport = transport
    this.remote = remote
  }

  get open(): boolean {
    return !this.transport.closed
  }

  send(bytes: Buffer): boolean {
    return this.transport.sendTo(bytes, this.remote, (error) => {
      this.transport.settings.log.debug({ error: error.message }, 'SIP datagram not sent')
    })
  }

  onBroken(): () => void {
    return () => {}
  }
}

/**
 * A connected socket on the transport's own port. Only a connected UDP socket is told of ICMP
 * errors, and sharing the port keeps the peer's view (source port, Via) unchanged.
 */
class UdpPath implements Flow {
  readonly protocol = 'udp'
  readonly reliable = false
  readonly transport: UdpTransport
  readonly remote: SocketAddress
  readonly #socket: Socket
  readonly #scope: Scope
  readonly #watchers = new Set<() => void>()
  #waiting: Buffer[] | null = []
  #failed = false
  usedAt: number

  constructor(transport: UdpTransport, remote: SocketAddress, scope: Scope, gone: () => void) {
    const { clock, family } = transport.settings
    this.transport = transport
    this.remote = remote
    this.usedAt = clock.now()
    this.#scope = scope
    this.#socket = socketOf(family, true)
    scope.own(gone)
    scope.own(() => new Promise<void>((resolve) => this.#socket.close(() => resolve())))
    transport.receiveFrom(this.#socket)
    this.#socket.on('error', (error) => this.#onError(error))
    // Bind and connect happen in this tick (literal addresses), so no foreign datagram strays in.
    this.#socket.bind(
      { address: transport.bound.address, port: transport.bound.port, exclusive: true },
      () => {
        if (scope.closed) return
        this.#socket.connect(remote.port, remote.address, () => this.#connected())
      },
    )
    this.#watchIdle(transport.settings.timers.udpFlowIdle)
  }

  get open(): boolean {
    return !this.transport.closed
  }

  get busy(): boolean {
    return this.#watchers.size > 0 || this.#waiting !== null
  }

  onBroken(broken: () => void): () => void {
    this.#watchers.add(broken)
    return () => {
      this.#watchers.delete(broken)
    }
  }

  send(bytes: Buffer): boolean {
    this.usedAt = this.transport.settings.clock.now()
    if (this.#failed || this.#scope.closed) {
      return this.transport.sendTo(bytes, this.remote, (error) => this.#broken(error))
    }
    if (this.#waiting) this.#waiting.push(bytes)
    else this.#sendNow(bytes)
    return true
  }

  drop(): void {
    void this.#scope.close()
  }

  #sendNow(bytes: Buffer): void {
    this.#socket.send(bytes, (error) => {
      if (error) this.#broken(error)
    })
  }

  #connected(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    if (this.#scope.closed) return
    for (const bytes of waiting) this.#sendNow(bytes)
  }

  #onError(error: Error): void {
    if (this.#waiting === null) {
      this.#broken(error)
      return
    }
    // The path could not be set up: use the listening socket, without news of failures.
    this.transport.settings.log.warn({ error: error.message }, 'no connected UDP socket')
    const waiting = this.#waiting
    this.#waiting = null
    this.#failed = true
    for (const bytes of waiting) this.send(bytes)
  }

  #broken(error: Error): void {
    this.transport.settings.log.debug({ error: error.message }, 'SIP peer unreachable')
    for (const watcher of [...this.#watchers]) watcher()
  }

  #watchIdle(ms: number): void {
    const { clock, timers } = this.transport.settings
    this.#scope.after(clock, ms, () => {
      const left = this.usedAt + timers.udpFlowIdle - clock.now()
      if (left <= 0 && !this.busy) this.drop()
      else this.#watchIdle(Math.max(left, timers.udpFlowIdle / 8))
    })
  }
}
