import type { Socket } from 'node:net'
import type { RawSrf } from './drachtio-types.js'

/** Something that needs the connection to the SIP server: an INVITE, a request, a dialog. */
export interface ConnectionBound {
  /** The connection has gone, and this with it. */
  lost(): void
  /** For what may outlive a connection: waits for the next one. */
  suspend?(): void
  /** The next connection stands. */
  resume?(srf: RawSrf, socket: Socket): void
}
