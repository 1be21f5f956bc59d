import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { Limits } from '../limits.js'
import type { Timers } from '../transaction/timers.js'
import type { Flow, Protocol, SocketAddress, Transport, TransportEvents } from './transport.js'

export interface ConnectionSettings {
  readonly events: TransportEvents
  readonly clock: Clock
  readonly timers: Timers
  readonly limits: Limits
  readonly log: Log
}

/** One connection with a peer, accepted or opened by this server. */
export abstract class Connection implements Flow {
  readonly reliable = true
  readonly transport: Transport
  readonly remote: SocketAddress
  abstract readonly protocol: Protocol
  protected readonly settings: ConnectionSettings
  readonly #listeners = new Set<() => void>()

  /** `onClose` is called once when the socket has closed, before the `onBroken` listeners. */
  constructor(
    transport: Transport,
    settings: ConnectionSettings,
    remote: SocketAddress,
    onClose: () => void,
  ) {
    this.transport = transport
    this.settings = settings
    this.remote = remote
    this.#listeners.add(onClose)
  }

  abstract get open(): boolean
  abstract send(bytes: Buffer): boolean
  /** Closes the socket at once. Idempotent. */
  abstract destroy(): void

  onBroken(broken: () => void): () => void {
    this.#listeners.add(broken)
    return () => {
      this.#listeners.delete(broken)
    }
  }

  /** Called by the subclass when the socket has closed. */
  protected socketClosed(): void {
    for (const listener of [...this.#listeners]) listener()
    this.#listeners.clear()
  }
}
