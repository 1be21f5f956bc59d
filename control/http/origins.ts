import type { RequestHandler } from 'express'
import type { Deps } from '../api/deps.js'

/** Where people see the service: mails link there, and its pages may use sessions. No slash at the end. */
export function dashboardUrl(deps: Pick<Deps, 'settings' | 'publicUrl'>): string {
  return deps.settings.dashboardUrl ?? deps.publicUrl()
}

/** Origins whose pages may make changes in a session. */
export function sessionOrigins(deps: Pick<Deps, 'settings' | 'publicUrl'>): readonly string[] {
  const origins = [dashboardUrl(deps), deps.publicUrl()].flatMap(originOf)
  return [...new Set([...origins, ...origins.flatMap(otherLoopbacks)])]
}

const LOOPBACKS = ['localhost', '127.0.0.1', '[::1]']

/** On one's own machine the same service has several names. */
function otherLoopbacks(origin: string): string[] {
  const url = new URL(origin)
  if (!LOOPBACKS.includes(url.hostname)) return []
  return LOOPBACKS.map((host) => `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`)
}

const METHODS = 'GET, POST, PUT, PATCH, DELETE'
// Not `authorization`: browsers are no place for API keys.
const HEADERS = 'content-type, idempotency-key, x-svc-csrf, x-svc-environment, x-svc-organization'
const EXPOSED = 'x-request-id, retry-after, idempotency-replayed'
const PREFLIGHT_SECONDS = 600

/**
 * Cross-origin rules: the dashboard's pages may call with their session, all others get no permission
 * (decisions 10). A preflight by the dashboard is answered here.
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
