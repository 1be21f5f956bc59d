import { isIP } from 'node:net'
import { type SocketAddress, socketAddressKey } from './transport.js'

interface Connection {
  readonly open: boolean
  destroy(): void
}

/**
 * The live connections of a transport: accepted ones by the address of the peer, our own also by the name
 * that the peer had to prove. A request to a bare address may use either kind; a request to a domain may only
 * use a connection that was opened for this domain (RFC 5923).
 */
export class ConnectionTable<C extends Connection> {
  readonly #named: boolean
  readonly #byKey = new Map<string, C>()

  /** `named` is true for transports whose peers prove a name (TLS). */
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

  /** Adds a connection and returns a function that removes it. `name` is null for an accepted connection. */
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
