import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { Clock } from '../base/clock.js'
import { EngineError } from '../base/errors.js'

/** The kernel's own default drops packets when the thread stalls for some tens of milliseconds. */
const RECEIVE_BUFFER_BYTES = 256 * 1024
/** Peers go on sending for a while after a call: their packets must not reach the next one. */
const QUARANTINE_MS = 30_000

export interface PortRange {
  /** Inclusive; only even ports are used, as RFC 3550 section 11 asks. */
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

/** Hands out ports of one thread and keeps just-closed ones back. */
export class RtpPorts {
  readonly #clock: Clock
  /** `address:port` to the clock time from which it may be used again. */
  readonly #resting = new Map<string, number>()
  #last = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Binds a socket: in the range the next free even port, without a range any port. Throws EngineError
   * `port_unavailable` when the address cannot be bound or every port is taken or at rest.
   */
  async open(address: string, range: PortRange | null, listener: DatagramListener): Promise<RtpPort> {
    if (range === null) return await this.#bind(address, 0, listener)
    const first = range.first + (range.first % 2)
    const count = Math.max(0, Math.floor((range.last - first) / 2) + 1)
    const start = this.#last >= first && this.#last < range.last ? (this.#last - first) / 2 + 1 : 0
    const now = this.#clock.now()
    for (let i = 0; i < count; i++) {
      const port = first + 2 * ((start + i) % count)
      const until = this.#resting.get(`${address}:${port}`)
      if (until !== undefined && until > now) continue
      this.#resting.delete(`${address}:${port}`)
      try {
        const opened = await this.#bind(address, port, listener)
        this.#last = port
        return opened
      } catch (error) {
        if (!(error instanceof EngineError) || !error.retryable) throw error
      }
    }
    throw new EngineError('port_unavailable', 'no RTP port is free', {
      retryable: true,
      context: { address, first: range.first, last: range.last },
    })
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
