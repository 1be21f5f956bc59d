import type { Socket } from 'node:net'
import type { RawSrf } from './drachtio-types.js'

/** An INVITE, request or dialog that depends on the connection to the SIP server. */
export interface ConnectionBound {
  /** The connection is lost, and this object with it. */
  lost(): void
  /** For objects that may outlive a connection: waits for the next one. */
  suspend?(): void
  /** Continues on the next connection. */
  resume?(srf: RawSrf, socket: Socket): void
}
