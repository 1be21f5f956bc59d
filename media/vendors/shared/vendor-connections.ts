import { Agent } from 'undici'

/** Time (ms) for which an idle connection is kept: longer than the pause between two turns of a call. */
const KEEP_ALIVE_MS = 60_000

/**
 * The HTTP connections of one thread to its vendors. They stay open between the turns of a call, so that a request does
 * not begin with a TLS handshake; Node's own `fetch` closes them after four seconds. A server's own `Keep-Alive` takes
 * precedence. An open connection keeps the process alive until `close`.
 */
export class VendorConnections {
  readonly #agent = new Agent({ keepAliveTimeout: KEEP_ALIVE_MS })

  /** The argument of Node's `fetch`. Its types are those of another version of undici with the same interface. */
  get dispatcher(): NonNullable<RequestInit['dispatcher']> {
    return this.#agent as unknown as NonNullable<RequestInit['dispatcher']>
  }

  /** Closes all connections and breaks off the requests in progress. Idempotent. */
  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}
