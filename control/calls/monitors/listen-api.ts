import { WebSocketServer } from 'ws'
import { errorText } from '../../../media/base/errors.js'
import type { Deps } from '../../api/deps.js'
import { sessionOrigins } from '../../http/origins.js'
import { refuseUpgrade, type Upgrade, type UpgradeRoute } from '../../http/upgrades.js'
import { ListenConnection } from './listen-connection.js'
import { readTicket } from './ticket.js'

/** Path of the WebSockets; the id of a process follows. */
export const LISTEN_PATH = '/v1/listen/'
/** The subprotocol; the client offers `TICKET_PREFIX` and its ticket beside it. */
export const LISTEN_PROTOCOL = 'parley.listen'
export const TICKET_PREFIX = 'ticket.'

/** Sockets of one process. Two for a call. */
const MAX_SOCKETS = 400
/** A client sends nothing but control frames. */
const MAX_MESSAGE_BYTES = 1024

/**
 * Sends the audio of live calls to those who have a ticket. The ticket is a subprotocol, because addresses are logged and
 * browsers send no other header of their choice.
 */
export function listenRoute(deps: Deps): UpgradeRoute {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: () => LISTEN_PROTOCOL,
  })
  const open = new Set<ListenConnection>()
  let closed = false
  return {
    prefix: LISTEN_PATH,
    accept({ request, socket, head, segment }: Upgrade) {
      const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
      const ticket = offered.find((name) => name.startsWith(TICKET_PREFIX))
      if (closed || open.size >= MAX_SOCKETS) return refuseUpgrade(socket, 503)
      if (!sessionOrigins(deps).includes(request.headers.origin ?? '')) return refuseUpgrade(socket, 403)
      if (!offered.includes(LISTEN_PROTOCOL) || ticket === undefined) return refuseUpgrade(socket, 400)
      // Only a ticket of the service opens a socket, and each opens one.
      const grant = readTicket(deps.rootKey, ticket.slice(TICKET_PREFIX.length), deps.clock.wall())
      if (grant === null || grant.nodeId !== segment) return refuseUpgrade(socket, 403)
      if ([...open].some(({ monitorId }) => monitorId === grant.id)) return refuseUpgrade(socket, 403)
      sockets.handleUpgrade(request, socket, head, (accepted) => {
        const connection = new ListenConnection(deps, accepted, grant, () => open.delete(connection))
        open.add(connection)
        connection.begin().catch((error: unknown) => {
          deps.log.error({ error: errorText(error) }, 'listen.failed')
          connection.close('internal')
        })
      })
    },
    close() {
      closed = true
      for (const connection of [...open]) connection.close('restart')
    },
  }
}
