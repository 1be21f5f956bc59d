import type { WsUpgrade } from '../../../signalling/embedded/transport/ws-transport.js'
import type { BrowserSip } from '../../api/deps.js'

/** Remembers which user each SIP connection of a dashboard belongs to. */
export class BrowserConnections implements BrowserSip {
  readonly #acceptWebSocket: (upgrade: WsUpgrade) => void
  /** The users, by address and port towards SIP. */
  readonly #users = new Map<string, string>()

  constructor(acceptWebSocket: (upgrade: WsUpgrade) => void) {
    this.#acceptWebSocket = acceptWebSocket
  }

  accept(upgrade: WsUpgrade, userId: string): void {
    const { address } = upgrade.remote
    const port = this.#freePort(address, upgrade.remote.port)
    const key = `${address} ${port}`
    this.#users.set(key, userId)
    upgrade.request.socket.once('close', () => this.#users.delete(key))
    this.#acceptWebSocket({ ...upgrade, remote: { address, port } })
  }

  /**
   * Returns a port towards SIP that no other connection of the address has. Behind reverse proxies the source port is
   * that of a proxy, and two proxies may use the same one for two users with one address.
   */
  #freePort(address: string, wanted: number): number {
    let port = wanted
    while (this.#users.has(`${address} ${port}`)) port = (port % 65_535) + 1
    return port
  }

  userAt(address: string, port: number): string | null {
    return this.#users.get(`${address} ${port}`) ?? null
  }

  connectionsOf(userId: string): number {
    let count = 0
    for (const user of this.#users.values()) if (user === userId) count++
    return count
  }
}
