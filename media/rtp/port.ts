import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import type { Clock } from '../base/clock.js'
import { EngineError } from '../base/errors.js'

/**
 * Receive buffer. The default of Linux drops packets when the thread stalls for some tens of milliseconds.
 */
const RECEIVE_BUFFER_BYTES = 256 * 1024
/** The range of ephemeral ports, used when no range is configured. */
const ANY: PortRange = { first: 32_768, last: 60_998 }
const TRIES = 100
/** Time during which a closed port is not reused (ms), because peers may still send to it after a call. */
const QUARANTINE_MS = 30_000

export interface PortRange {
  /** Inclusive. RTP uses even ports, RTCP the odd port after each (RFC 3550 section 11). */
  readonly first: number
  readonly last: number
}

/** The address and port of a UDP socket. */
export interface SocketAddress {
  readonly address: string
  readonly port: number
}

export interface DatagramListener {
  /** Handles one datagram. `data` is borrowed until the call returns. */
  onDatagram(data: Uint8Array, from: SocketAddress): void
}

/** A bound UDP socket, or a replacement of it in memory. */
export interface RtpPort extends SocketAddress {
  /** The number of packets that the system refused to send (no route, no buffer). */
  readonly sendErrors: number
  /**
   * Makes the system drop datagrams from every other address before they cost the process anything.
   * `disconnect`, or a packet sent to another address, ends the filter.
   */
  connect(port: number, address: string): void
  disconnect(): void
  /** Sends a packet. Its bytes must not change until the system took them: use a small ring of buffers. */
  send(packet: Uint8Array, port: number, address: string): void
  /** Idempotent. */
  close(): void
}

/**
 * Binds one socket at exactly this port. Rejects with EngineError `port_unavailable`, `retryable` when the
 * port is in use. The returned port calls `onClosed` once, when it closes.
 */
export type BindRtpPort = (
  address: string,
  port: number,
  listener: DatagramListener,
  onClosed: () => void,
) => Promise<RtpPort>

/** The sockets of a leg: RTP, and RTCP for peers that do not multiplex both on one port (RFC 5761). */
export interface RtpPortPair {
  readonly rtp: RtpPort
  readonly rtcp: RtpPort
}

/**
 * Allocates pairs of RTP and RTCP ports for one thread, at random, because a stranger who can guess a port can
 * send media to it. A closed port stays in quarantine for a while.
 */
export class RtpPorts {
  readonly #clock: Clock
  readonly #bindPort: BindRtpPort
  readonly #pick: (count: number) => number
  /** Clock time until which `address:port` stays in quarantine. */
  readonly #quarantined = new Map<string, number>()

  /**
   * @param bindPort opens the sockets; UDP by default.
   * @param pick returns a random integer from 0 to below `count`.
   */
  constructor(
    clock: Clock,
    bindPort: BindRtpPort = bindUdpPort,
    pick: (count: number) => number = randomInt,
  ) {
    this.#clock = clock
    this.#bindPort = bindPort
    this.#pick = pick
  }

  /**
   * Binds two sockets: a random free even port of the range, or of the ephemeral ports without a range, and the
   * port after it. Rejects with EngineError `port_unavailable` when the address cannot be bound, or when every pair
   * is in use or in quarantine.
   */
  async open(
    address: string,
    range: PortRange | null,
    rtp: DatagramListener,
    rtcp: DatagramListener,
  ): Promise<RtpPortPair> {
    if (range === null) return await this.#openAny(address, rtp, rtcp)
    const first = range.first + (range.first % 2)
    const count = Math.max(0, Math.floor((range.last - first + 1) / 2))
    if (count === 0) throw noneFree(address, range)
    const start = this.#pick(count)
    const now = this.#clock.now()
    for (let i = 0; i < count; i++) {
      const port = first + 2 * ((start + i) % count)
      const pair = await this.#tryPair(address, port, now, rtp, rtcp)
      if (pair !== null) return pair
    }
    throw noneFree(address, range)
  }

  async #openAny(address: string, rtp: DatagramListener, rtcp: DatagramListener): Promise<RtpPortPair> {
    // Parley chooses the port itself, because Linux releases a port that it chose when `disconnect` follows
    // `connect`.
    for (let i = 0; i < TRIES; i++) {
      const port = ANY.first + 2 * this.#pick((ANY.last - ANY.first) / 2)
      const pair = await this.#tryPair(address, port, this.#clock.now(), rtp, rtcp)
      if (pair !== null) return pair
    }
    throw noneFree(address, ANY)
  }

  /** Returns null when one of the two ports is in use or in quarantine. */
  async #tryPair(
    address: string,
    port: number,
    nowMs: number,
    rtp: DatagramListener,
    rtcp: DatagramListener,
  ): Promise<RtpPortPair | null> {
    const key = `${address}:${port}`
    const until = this.#quarantined.get(key)
    if (until !== undefined && until > nowMs) return null
    this.#quarantined.delete(key)
    try {
      return await this.#bindPair(address, port, rtp, rtcp)
    } catch (error) {
      if (!(error instanceof EngineError) || !error.retryable) throw error
      return null
    }
  }

  async #bindPair(
    address: string,
    port: number,
    rtp: DatagramListener,
    rtcp: DatagramListener,
  ): Promise<RtpPortPair> {
    const first = await this.#bindSocket(address, port, rtp)
    try {
      return { rtp: first, rtcp: await this.#bindSocket(address, port + 1, rtcp) }
    } catch (error) {
      first.close()
      // The RTP port is free: only its RTCP port is in use by another program.
      this.#quarantined.delete(`${address}:${first.port}`)
      throw error
    }
  }

  #bindSocket(address: string, port: number, listener: DatagramListener): Promise<RtpPort> {
    return this.#bindPort(address, port, listener, () => {
      this.#quarantined.set(`${address}:${port}`, this.#clock.now() + QUARANTINE_MS)
    })
  }
}

/** Binds a UDP socket. */
const bindUdpPort: BindRtpPort = (address, port, listener, onClosed) =>
  new Promise((resolve, reject) => {
    const family = address.includes(':') ? 6 : 4
    const socket = createSocket({
      type: family === 6 ? 'udp6' : 'udp4',
      // Addresses are always literal: a synchronous answer keeps a send within its tick.
      lookup: (host, _options, done) => done(null, host, family),
    })
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      socket.close()
      reject(
        new EngineError('port_unavailable', 'an RTP port cannot be bound', {
          retryable: cause.code === 'EADDRINUSE',
          cause,
          context: { address, port, system: cause.code },
        }),
      )
    })
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeAllListeners('error')
      socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES)
      resolve(new UdpPort(socket, listener, onClosed))
    })
  })

function noneFree(address: string, { first, last }: PortRange): EngineError {
  return new EngineError('port_unavailable', 'no RTP port is free', {
    retryable: true,
    context: { address, first, last },
  })
}

class UdpPort implements RtpPort {
  readonly address: string
  readonly port: number
  sendErrors = 0
  readonly #socket: Socket
  readonly #onClosed: () => void
  #open = true
  /** The only address that the system lets through, while the filter is set. */
  #peer: { readonly port: number; readonly address: string } | null = null

  constructor(socket: Socket, listener: DatagramListener, onClosed: () => void) {
    const bound = socket.address()
    this.address = bound.address
    this.port = bound.port
    this.#socket = socket
    this.#onClosed = onClosed
    socket.on('message', (data, from) => listener.onDatagram(data, from))
    // An ICMP error or a full queue loses a packet, but never ends the call.
    socket.on('error', () => {
      this.sendErrors++
    })
  }

  send(packet: Uint8Array, port: number, address: string): void {
    if (!this.#open) return
    const only = this.#peer
    if (only !== null) {
      if (only.port === port && only.address === address) {
        this.#socket.send(packet)
        return
      }
      this.disconnect()
    }
    this.#socket.send(packet, port, address)
  }

  connect(port: number, address: string): void {
    if (!this.#open || this.#peer !== null) return
    this.#socket.connect(port, address)
    try {
      this.#socket.remoteAddress()
    } catch {
      // There is no route to the address right now, so the filter is not set. The error event is counted.
      return
    }
    this.#peer = { port, address }
  }

  disconnect(): void {
    if (!this.#open || this.#peer === null) return
    this.#peer = null
    this.#socket.disconnect()
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#socket.removeAllListeners('message')
    this.#socket.close()
    this.#onClosed()
  }
}
