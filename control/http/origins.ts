import type { RequestHandler } from 'express'
import type { Deps } from '../api/deps.js'

/**
 * Returns the base URL of the dashboard without a trailing slash. Mails link to it, and its pages may use
 * sessions.
 */
export function dashboardUrl(deps: Pick<Deps, 'settings' | 'publicUrl'>): string {
  return deps.settings.dashboardUrl ?? deps.publicUrl()
}

/**
 * Returns the address of a page that a mail links to. Pages of the service work without scripts, so the token
 * is in the query. A dashboard gets it in the fragment, which servers and proxies do not log.
 */
export function pageUrl(
  deps: Pick<Deps, 'settings' | 'publicUrl'>,
  page: string,
  token: string | null,
): string {
  const url = `${dashboardUrl(deps)}/${page}`
  if (token === null) return url
  return deps.settings.dashboardUrl === null ? `${url}?token=${token}` : `${url}#token=${token}`
}

/** Returns the origins whose pages may change data in a session. */
export function sessionOrigins(deps: Pick<Deps, 'settings' | 'publicUrl'>): readonly string[] {
  const origins = [dashboardUrl(deps), deps.publicUrl()].flatMap(originOf)
  return [...new Set([...origins, ...origins.flatMap(otherLoopbacks)])]
}

const LOOPBACKS = ['localhost', '127.0.0.1', '[::1]']

/** Returns the other loopback origins, because a local service is reachable under several names. */
function otherLoopbacks(origin: string): string[] {
  const url = new URL(origin)
  if (!LOOPBACKS.includes(url.hostname)) return []
  return LOOPBACKS.map((host) => `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`)
}

const METHODS = 'GET, POST, PUT, PATCH, DELETE'
// Without `authorization`: API keys must not be used in browsers.
const HEADERS = 'content-type, idempotency-key, x-svc-csrf, x-svc-environment, x-svc-organization'
const EXPOSED = 'x-request-id, retry-after, idempotency-replayed'
const PREFLIGHT_SECONDS = 600

/**
 * Applies the cross-origin rules: pages of the dashboard may use sessions, other origins get no permission.
 * Responds to preflight requests of the dashboard.
 */
export function crossOrigin(deps: Deps): RequestHandler {
  return (request, response, next) => {
    response.vary('origin')
    const origin = request.header('origin')
    const [dashboard] = originOf(dashboardUrl(deps))
    if (origin === undefined || origin !== dashboard || request.header('authorization') !== undefined) {
      next()
      return
    }
    response.set({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': EXPOSED,
    })
    if (request.method !== 'OPTIONS' || request.header('access-control-request-method') === undefined) {
      next()
      return
    }
    response.set({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    })
    response.status(204).end()
  }
}

function originOf(url: string): string[] {
  return URL.canParse(url) ? [new URL(url).origin] : []
}
