import type { Socket } from 'node:net'
import type { Limits } from '../limits.js'
import { sourceKey } from './guard.js'

/** Strangers' share of the connections: what is left stays free for carriers during a flood. */
const STRANGERS_SHARE = 0.75

export interface QuotaRules {
  /** Known networks: bounded by the total alone. */
  isTrusted(address: string): boolean
  isBanned(address: string): boolean
}

/** How many connections peers may have open with this server, by source and in all; whatever the transport. */
export class ConnectionQuota {
  readonly #limits: Limits
  readonly #rules: QuotaRules
  readonly #bySource = new Map<string, number>()
  #total = 0

  constructor(limits: Limits, rules: QuotaRules) {
    this.#limits = limits
    this.#rules = rules
  }

  /** Connections that are open now, handshakes included. */
  get total(): number {
    return this.#total
  }

  /** Counts a new connection until it closes; false, and the socket destroyed, when it is one too many. */
  admit(socket: Socket): boolean {
    const { remoteAddress: address } = socket
    if (address === undefined || !this.#allows(address)) {
      socket.destroy()
      return false
    }
    const key = sourceKey(address)
    this.#total += 1
    this.#bySource.set(key, (this.#bySource.get(key) ?? 0) + 1)
    socket.once('close', () => {
      this.#total -= 1
      const left = (this.#bySource.get(key) ?? 1) - 1
      if (left > 0) this.#bySource.set(key, left)
      else this.#bySource.delete(key)
    })
    return true
  }

  #allows(address: string): boolean {
    const { connections, connectionsPerSource } = this.#limits
    if (this.#rules.isTrusted(address)) return this.#total < connections
    return (
      !this.#rules.isBanned(address) &&
      this.#total < connections * STRANGERS_SHARE &&
      (this.#bySource.get(sourceKey(address)) ?? 0) < connectionsPerSource
    )
  }
}
