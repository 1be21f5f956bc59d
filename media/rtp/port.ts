import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { Clock } from '../base/clock.js'
import { EngineError } from '../base/errors.js'

/** The kernel's own default drops packets when the thread stalls for some tens of milliseconds. */
const RECEIVE_BUFFER_BYTES = 256 * 1024
/** Peers go on sending for a while after a call: their packets must not reach the next one. */
const QUARANTINE_MS = 30_000

export interface PortRange {
  /** Inclusive; RTP takes even ports and RTCP the odd ones after them (RFC 3550 section 11). */
  readonly first: number
  readonly last: number
}

export interface DatagramListener {
  datagram(data: Uint8Array, from: RemoteInfo): void
}

/** One bound UDP socket. Behind this interface a native one may take its place. */
export interface RtpPort {
  readonly address: string
  readonly port: number
  /** Sends failed by the system (no route, no buffer). */
  readonly sendErrors: number
  /** The packet must stay unchanged until the system took it: use a small ring of buffers. */
  send(packet: Uint8Array, port: number, address: string): void
  /** Idempotent. */
  close(): void
}

/** What a leg is given: a port for RTP, and one for RTCP in case the far side does not put both on one. */
export interface RtpPortPair {
  readonly rtp: RtpPort
  readonly rtcp: RtpPort
}

/** Hands out pairs of ports of one thread and keeps just-closed ones back. */
export class RtpPorts {
  readonly #clock: Clock
  /** `address:port` to the clock time from which it may be used again. */
  readonly #resting = new Map<string, number>()
  #last = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Binds two sockets: in the range the next free even port and the odd one after it, without a range
   * any two. Throws EngineError `port_unavailable` when the address cannot be bound or every pair is
   * taken or at rest.
   */
  async open(
    address: string,
    range: PortRange | null,
    rtp: DatagramListener,
    rtcp: DatagramListener,
  ): Promise<RtpPortPair> {
    if (range === null) return await this.#bindPair(address, 0, 0, rtp, rtcp)
    const first = range.first + (range.first % 2)
    const count = Math.max(0, Math.floor((range.last - first + 1) / 2))
    const start = this.#last >= first && this.#last < range.last ? (this.#last - first) / 2 + 1 : 0
    const now = this.#clock.now()
    for (let i = 0; i < count; i++) {
      const port = first + 2 * ((start + i) % count)
      const until = this.#resting.get(`${address}:${port}`)
      if (until !== undefined && until > now) continue
      this.#resting.delete(`${address}:${port}`)
      try {
        const pair = await this.#bindPair(address, port, port + 1, rtp, rtcp)
        this.#last = port
        return pair
      } catch (error) {
        if (!(error instanceof EngineError) || !error.retryable) throw error
      }
    }
    throw new EngineError('port_unavailable', 'no RTP port is free', {
      retryable: true,
      context: { address, first: range.first, last: range.last },
    })
  }

  async #bindPair(
    address: string,
    port: number,
    control: number,
    rtp: DatagramListener,
    rtcp: DatagramListener,
  ): Promise<RtpPortPair> {
    const first = await this.#bind(address, port, rtp)
    try {
      return { rtp: first, rtcp: await this.#bind(address, control, rtcp) }
    } catch (error) {
      first.close()
      // Not ours, but another's RTCP port: it was never used.
      this.#resting.delete(`${address}:${first.port}`)
      throw error
    }
  }

  #bind(address: string, port: number, listener: DatagramListener): Promise<RtpPort> {
    return new Promise((resolve, reject) => {
      const socket = createSocket({
        type: address.includes(':') ? 'udp6' : 'udp4',
        // Addresses are always literal: answering at once keeps a send within its beat.
        lookup: (host, _options, done) => done(null, host, address.includes(':') ? 6 : 4),
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
        resolve(
          new UdpPort(socket, listener, (closed) => {
            if (port !== 0) this.#resting.set(`${address}:${closed}`, this.#clock.now() + QUARANTINE_MS)
          }),
        )
      })
    })
  }
}

class UdpPort implements RtpPort {
  readonly address: string
  readonly port: number
  sendErrors = 0
  readonly #socket: Socket
  readonly #closed: (port: number) => void
  #open = true

  constructor(socket: Socket, listener: DatagramListener, closed: (port: number) => void) {
    const bound = socket.address()
    this.address = bound.address
    this.port = bound.port
    this.#socket = socket
    this.#closed = closed
    socket.on('message', (data, from) => listener.datagram(data, from))
    // An ICMP refusal or a full queue loses a packet, never the call.
    socket.on('error', () => {
      this.sendErrors++
    })
  }

  send(packet: Uint8Array, port: number, address: string): void {
    if (this.#open) this.#socket.send(packet, port, address)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#socket.removeAllListeners('message')
    this.#socket.close()
    this.#closed(this.port)
  }
}
