import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
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

/** Addresses are literals: a synchronous lookup keeps the order of sends. */
function socketOf(family: 4 | 6, shared: boolean): Socket {
  return createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    reuseAddr: shared,
    ipv6Only: family === 6,
    lookup: (host, _options, done) => done(null, host, family),
  })
}

/** Runs a socket call. What Node throws at once, such as a bad port, reaches `onError` in the next tick. */
function attempt(call: () => void, onError: (error: Error) => void): void {
  try {
    call()
  } catch (error) {
    process.nextTick(onError, error instanceof Error ? error : new Error(errorText(error)))
  }
}

async function bind(socket: Socket, address: string, port: number): Promise<number> {
  const ready = once(socket, 'listening')
  socket.bind({ address, port, exclusive: true })
  await ready
  return socket.address().port
}

/**
 * Binds a UDP listening address. The socket shares its port (SO_REUSEADDR) with the connected sockets of
 * `flowTo`; a first, exclusive bind makes sure that the port is free.
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
  readonly #connectedFlows = new Map<string, ConnectedUdpFlow>()
  readonly #address: AdvertisedAddress
  #closed = false

  constructor(settings: UdpSettings, socket: Socket, port: number) {
    this.settings = settings
    this.family = settings.family
    this.bound = { address: settings.address, port }
    this.#socket = socket
    this.#address = new AdvertisedAddress(settings, port)
    this.receiveFrom(socket)
    socket.on('error', (error) => settings.log.warn({ error: error.message }, 'sip.socket_error'))
    this.#scope.own(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  }

  advertised(peerAddress: string): SocketAddress {
    return this.#address.forPeer(peerAddress)
  }

  isLocalPeer(peerAddress: string): boolean {
    return this.#address.inLocalNetwork(peerAddress)
  }

  flowTo(remote: SocketAddress): Flow {
    const key = socketAddressKey(remote)
    const existing = this.#connectedFlows.get(key)
    if (existing) return existing
    if (
      this.#closed ||
      (this.#connectedFlows.size >= this.settings.limits.connectedUdpSockets && !this.#evict())
    ) {
      return new UdpReplyFlow(this, remote)
    }
    const flow = new ConnectedUdpFlow(this, remote, this.#scope.child(), () =>
      this.#connectedFlows.delete(key),
    )
    this.#connectedFlows.set(key, flow)
    return flow
  }

  connectionWith(): null {
    return null
  }

  /** Closes the connected socket that was idle longest. Returns false when all are in use. */
  #evict(): boolean {
    let longestIdle: ConnectedUdpFlow | null = null
    for (const flow of this.#connectedFlows.values()) {
      if (!flow.busy && (longestIdle === null || flow.usedAt < longestIdle.usedAt)) longestIdle = flow
    }
    longestIdle?.drop()
    return longestIdle !== null
  }

  /**
   * Connected sockets receive part of the traffic, so all sockets feed the same handler. Datagrams from port 0
   * are forged and cannot be answered, so they are dropped.
   */
  receiveFrom(socket: Socket): void {
    socket.on('message', (bytes, peer) => {
      if (peer.port === 0) {
        this.settings.log.debug({ address: peer.address }, 'sip.datagram_from_port_0')
        return
      }
      this.settings.events.onMessage(bytes, new UdpReplyFlow(this, peer))
    })
  }

  sendTo(bytes: Buffer, remote: SocketAddress, onError: (error: Error) => void): boolean {
    if (this.#closed) return false
    attempt(
      () =>
        this.#socket.send(bytes, remote.port, remote.address, (error) => {
          if (error) onError(error)
        }),
      onError,
    )
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

/** Sends to the source of a datagram, without notice of delivery failures. */
class UdpReplyFlow implements Flow {
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
      this.transport.settings.log.debug({ error: error.message }, 'sip.send_failed')
    })
  }

  onBroken(): () => void {
    return () => {}
  }

  atPort(port: number): Flow {
    return new UdpReplyFlow(this.transport, { address: this.remote.address, port })
  }
}

/**
 * A connected socket on the port of the transport. Only a connected UDP socket receives ICMP errors; sharing
 * the port keeps the source port and Via that the peer sees unchanged.
 */
class ConnectedUdpFlow implements Flow {
  readonly protocol = 'udp'
  readonly reliable = false
  readonly transport: UdpTransport
  readonly remote: SocketAddress
  readonly #socket: Socket
  readonly #scope: Scope
  readonly #listeners = new Set<() => void>()
  #queue: Buffer[] | null = []
  #failed = false
  usedAt: number

  constructor(transport: UdpTransport, remote: SocketAddress, scope: Scope, onClose: () => void) {
    const { clock, family } = transport.settings
    this.transport = transport
    this.remote = remote
    this.usedAt = clock.now()
    this.#scope = scope
    this.#socket = socketOf(family, true)
    scope.own(onClose)
    scope.own(() => new Promise<void>((resolve) => this.#socket.close(() => resolve())))
    transport.receiveFrom(this.#socket)
    this.#socket.on('error', (error) => this.#onError(error))
    this.#socket.on('connect', () => this.#connected())
    // Bind and connect happen in this tick (literal addresses), so no datagram of another peer arrives.
    this.#socket.bind(
      { address: transport.bound.address, port: transport.bound.port, exclusive: true },
      () => {
        if (scope.closed) return
        // Without a callback, a failure to connect reaches the `error` listener.
        attempt(
          () => this.#socket.connect(remote.port, remote.address),
          (error) => this.#onError(error),
        )
      },
    )
    this.#scheduleIdleCheck(transport.settings.timers.udpFlowIdle)
  }

  get open(): boolean {
    return !this.transport.closed
  }

  get busy(): boolean {
    return this.#listeners.size > 0 || this.#queue !== null
  }

  onBroken(broken: () => void): () => void {
    this.#listeners.add(broken)
    return () => {
      this.#listeners.delete(broken)
    }
  }

  send(bytes: Buffer): boolean {
    this.usedAt = this.transport.settings.clock.now()
    if (this.#failed || this.#scope.closed) {
      return this.transport.sendTo(bytes, this.remote, (error) => this.#reportFailure(error))
    }
    if (this.#queue) this.#queue.push(bytes)
    else this.#sendNow(bytes)
    return true
  }

  drop(): void {
    void this.#scope.close()
  }

  #sendNow(bytes: Buffer): void {
    attempt(
      () =>
        this.#socket.send(bytes, (error) => {
          if (error) this.#reportFailure(error)
        }),
      (error) => this.#reportFailure(error),
    )
  }

  #connected(): void {
    const queued = this.#queue ?? []
    this.#queue = null
    if (this.#scope.closed) return
    for (const bytes of queued) this.#sendNow(bytes)
  }

  #onError(error: Error): void {
    if (this.#queue === null) {
      this.#reportFailure(error)
      return
    }
    // The socket could not be connected: use the listening socket, without notice of failures.
    this.transport.settings.log.warn({ error: error.message }, 'sip.udp_connect_failed')
    const queued = this.#queue
    this.#queue = null
    this.#failed = true
    for (const bytes of queued) this.send(bytes)
  }

  #reportFailure(error: Error): void {
    this.transport.settings.log.debug({ error: error.message }, 'sip.peer_unreachable')
    for (const listener of [...this.#listeners]) listener()
  }

  #scheduleIdleCheck(ms: number): void {
    const { clock, timers } = this.transport.settings
    this.#scope.after(clock, ms, () => {
      const left = this.usedAt + timers.udpFlowIdle - clock.now()
      if (left <= 0 && !this.busy) this.drop()
      else this.#scheduleIdleCheck(Math.max(left, timers.udpFlowIdle / 8))
    })
  }
}
