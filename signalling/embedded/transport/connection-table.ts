import { isIP } from 'node:net'
import { type SocketAddress, socketAddressKey } from './transport.js'

interface Connection {
  readonly open: boolean
  destroy(): void
}

/**
 * The live connections of a transport: those a peer opened by its address, ours also by the name
 * the peer had to prove. A request to a bare address takes either; one to a domain only a
 * connection that was made for that domain (RFC 5923: a connection is reused by whom it proved to be).
 */
export class ConnectionTable<C extends Connection> {
  readonly #named: boolean
  readonly #byKey = new Map<string, C>()

  /** `named` for transports whose peers prove a name. */
  constructor(named: boolean) {
    this.#named = named
  }

  get size(): number {
    return this.#byKey.size
  }

  find(remote: SocketAddress, name: string): C | null {
    const found = this.#byKey.get(this.#key(remote, name))
    return found?.open ? found : null
  }

  /** Adds a connection; the function returned takes it out. `name` is null for an accepted one. */
  add(remote: SocketAddress, name: string | null, connection: C): () => void {
    const key = this.#key(remote, name)
    this.#byKey.set(key, connection)
    return () => {
      if (this.#byKey.get(key) === connection) this.#byKey.delete(key)
    }
  }

  destroyAll(): void {
    for (const connection of [...this.#byKey.values()]) connection.destroy()
  }

  #key(remote: SocketAddress, name: string | null): string {
    if (!this.#named || name === null || isIP(name) !== 0) return socketAddressKey(remote)
    return `${socketAddressKey(remote)}|${name.toLowerCase()}`
  }
}
