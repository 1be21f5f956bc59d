import type { Socket } from 'node:net'
import { Counts } from '../counts.js'
import type { Limits } from '../limits.js'
import { type Guard, sourceKey } from './guard.js'

/** Share of connections and transactions for unknown sources; the rest stays free for carriers during a flood. */
export const UNKNOWN_SHARE = 0.75

/** Limits the open connections of peers, per source and in total, over all transports. */
export class ConnectionQuota {
  readonly #limits: Limits
  readonly #guard: Guard
  readonly #bySource = new Counts()
  #total = 0

  constructor(limits: Limits, guard: Guard) {
    this.#limits = limits
    this.#guard = guard
  }

  /** Number of open connections, including those in their handshake. */
  get total(): number {
    return this.#total
  }

  /**
   * Counts a new connection until it closes. Returns false, and destroys the socket, when the quota is
   * exceeded.
   */
  admit(socket: Socket): boolean {
    const { remoteAddress: address } = socket
    if (address === undefined || !this.#allows(address)) {
      socket.destroy()
      return false
    }
    const key = sourceKey(address)
    this.#total += 1
    this.#bySource.add(key)
    socket.once('close', () => {
      this.#total -= 1
      this.#bySource.remove(key)
    })
    return true
  }

  #allows(address: string): boolean {
    const { connections, connectionsPerSource } = this.#limits
    const known = this.#guard.isExempt(address) || this.#guard.isTrusted(address)
    if (known) return this.#total < connections
    return (
      !this.#guard.isBanned(address) &&
      this.#total < connections * UNKNOWN_SHARE &&
      this.#bySource.of(sourceKey(address)) < connectionsPerSource
    )
  }
}
