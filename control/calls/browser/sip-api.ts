import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import express from 'express'
import { errorText } from '../../../media/base/errors.js'
import { readCookie, SESSION_COOKIE } from '../../access/sessions/cookies.js'
import { findSession } from '../../access/sessions/sessions.js'
import type { Deps } from '../../api/deps.js'
import { sessionOrigins } from '../../http/origins.js'
import { refuseUpgrade, type Upgrade, type UpgradeRoute } from '../../http/upgrades.js'

const PREFIX = '/v1/browser-calls/'
const SEGMENT = 'sip'
/** Path of the WebSockets. */
export const SIP_PATH = `${PREFIX}${SEGMENT}`
/** A person has a few tabs, and a connection that broke is noticed late. */
const CONNECTIONS_PER_USER = 8

/**
 * Takes SIP over WebSocket (RFC 7118) from pages of the dashboard in a session, at the HTTP port, so that neither a port
 * nor a certificate of its own is needed. What is called over it is decided by tickets.
 */
export function browserSipRoute(
  deps: Pick<Deps, 'db' | 'rootKey' | 'clock' | 'log' | 'settings' | 'publicUrl' | 'browserSip'>,
): UpgradeRoute {
  const { settings, browserSip, log } = deps
  const isProxy = proxyTest(settings.trustedProxies)
  const sockets = new Set<Socket>()
  let closed = false

  async function take({ request, head }: Upgrade): Promise<void> {
    const { socket } = request
    const token = readCookie(request.headers.cookie, SESSION_COOKIE)
    const session = token === null ? null : await findSession(deps, token)
    if (session === null || session.staff) return refuseUpgrade(socket, 403)
    const { userId } = session
    const tooMany = browserSip === null || browserSip.connectionsOf(userId) >= CONNECTIONS_PER_USER
    if (tooMany || closed) return refuseUpgrade(socket, 503)
    const { remotePort: port } = socket
    // The peer is gone already.
    if (socket.destroyed || port === undefined) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    browserSip.accept({ request, head, remote: { address: clientAddress(request, isProxy), port } }, userId)
  }

  return {
    prefix: PREFIX,
    accept(upgrade) {
      const { request, segment } = upgrade
      const { socket } = request
      if (segment !== SEGMENT) return refuseUpgrade(socket, 404)
      if (!sessionOrigins(deps).includes(request.headers.origin ?? '')) return refuseUpgrade(socket, 403)
      take(upgrade).catch((error: unknown) => {
        log.error({ error: errorText(error) }, 'browser_sip.handshake_failed')
        refuseUpgrade(socket, 503)
      })
    },
    async close() {
      closed = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

type ProxyTest = (address: string, hop: number) => boolean

/** Express derives the function from its setting. */
function proxyTest(trusted: readonly string[]): ProxyTest {
  const app = express()
  if (trusted.length > 0) app.set('trust proxy', [...trusted])
  return app.get('trust proxy fn')
}

/** Returns the address of the client: the nearest one that is no trusted proxy. */
function clientAddress(request: IncomingMessage, isProxy: ProxyTest): string {
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse()
  const chain = [request.socket.remoteAddress ?? '', ...forwarded.map((text) => text.trim())]
  const client = chain.find((address, hop) => !isProxy(address, hop)) ?? chain.at(-1) ?? ''
  return client.replace(/^::ffff:(?=\d+\.)/i, '')
}
