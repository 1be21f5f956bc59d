import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { EngineError, errorText } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import type { KeyVerifier } from '../access/keys/api-keys.js'
import { openLastUsedWriter } from '../access/keys/last-used.js'
import type { Deps } from '../api/deps.js'
import type { Operation } from '../api/operation.js'
import type { Method } from '../api/operation-spec.js'
import { errorEnvelope, isRefusal, type Refusal, refuse, unavailable } from '../api/problem.js'
import { isTransient } from '../db/transient-error.js'
import { CHALLENGES } from './admit.js'
import { limitRest } from './body-time.js'
import { limitConnections } from './connection-limit.js'
import { type Exchange, errorDocsUrl } from './exchange.js'
import { type HandlerDeps, handle } from './handle.js'
import { openIdempotency } from './idempotency.js'
import { crossOrigin } from './origins.js'
import { sendRefusal } from './reply.js'
import { buildRoutes, type Route } from './routes.js'
import { OpenStreams } from './send-events.js'
import { HttpRequest, routeUpgrade, type UpgradeRoute } from './upgrades.js'

export interface HttpAddress {
  readonly address: string
  /** Port to listen on. 0 selects a free port. */
  readonly port: number
}

/** A bound port. Requests are queued until `serveHttp` serves them. */
export interface HttpListener extends HttpAddress {
  readonly server: Server
  /** Passes the queued requests and all later ones to `listener`. */
  serve(listener: RequestListener): void
  close(): void
}

export interface HttpServerOptions {
  readonly operations: readonly Operation[]
  readonly deps: Deps
  /** Public pages, served without CORS headers. */
  readonly pages?: readonly RequestHandler[]
  /** Returns routers for paths that are no operation. They check API keys themselves. */
  readonly routers?: (keys: KeyVerifier) => readonly RequestHandler[]
  /** Paths that take WebSockets. They check credential and Origin themselves. */
  readonly upgrades?: readonly UpgradeRoute[]
}

export interface HttpServer extends HttpAddress {
  /** Rejects new connections, waits up to `graceMs` for running requests, then closes all connections. */
  close(graceMs: number): Promise<void>
}

// Time limits for a whole request with a long upload, for its head, and for an idle connection. Bodies have narrower ones.
const REQUEST_MS = 15 * 60_000
const HEAD_MS = 10_000
const IDLE_MS = 65_000 // longer than the 60 s of common load balancers, so that they close first
const HEAD_BYTES = 16 * 1024
/** Open connections per address. Requests of a reverse proxy share its address, so that proxies are exempt. */
const CONNECTIONS_PER_ADDRESS = 256

/** Binds the port. Throws EngineError `port_unavailable` if this fails. */
export async function bindHttp(options: HttpAddress): Promise<HttpListener> {
  const server = createServer({
    IncomingMessage: HttpRequest,
    maxHeaderSize: HEAD_BYTES,
    requestTimeout: REQUEST_MS,
    headersTimeout: HEAD_MS,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: 5000,
  })
  const waiting: Parameters<RequestListener>[] = []
  const hold: RequestListener = (...exchange) => void waiting.push(exchange)
  server.on('request', hold)
  await listen(server, options)
  const { address, port } = server.address() as AddressInfo
  return {
    address,
    port,
    server,
    serve(listener) {
      server.off('request', hold).on('request', listener)
      for (const exchange of waiting) listener(...exchange)
    },
    close: () => void server.close(),
  }
}

/** Serves the operations on a bound port. */
export function serveHttp(listener: HttpListener, options: HttpServerOptions): HttpServer {
  const { deps } = options
  const { server, address, port } = listener
  const lastUsed = openLastUsedWriter(deps.db, deps.clock, deps.log)
  const handling: HandlerDeps = {
    deps,
    keys: { db: deps.db, rootKey: deps.rootKey, clock: deps.clock, lastUsed },
    idempotency: openIdempotency(deps.db, deps.rootKey, deps.clock),
    streams: new OpenStreams(),
  }

  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  app.set('case sensitive routing', true).set('strict routing', true)
  if (deps.settings.trustedProxies.length > 0) app.set('trust proxy', [...deps.settings.trustedProxies])
  app.use(prepareExchange(deps))
  for (const page of options.pages ?? []) app.use(page)
  app.use(crossOrigin(deps))
  for (const route of buildRoutes(options.operations)) app.all(route.path, routeHandler(handling, route))
  for (const router of options.routers?.(handling.keys) ?? []) app.use(router)
  app.use((_request, response) => {
    sendRefusal(response.locals.exchange, refuse('not_found', 'There is no operation at this path.'))
  })
  app.use(errorHandler(deps))

  // Express derives the function from the setting `trust proxy`.
  const isProxy: (address: string, hop: number) => boolean = app.get('trust proxy fn')
  limitConnections(server, {
    perAddress: CONNECTIONS_PER_ADDRESS,
    exempt: (address) => isLoopback(address) || isProxy(address, 0),
    onReached: () => deps.log.warn({ limit: CONNECTIONS_PER_ADDRESS }, 'http.connection_limit_reached'),
  })
  server.on('clientError', (error, socket) => rejectUnparsable(deps, error, socket as Socket))
  const { upgrades = [] } = options
  server.on('upgrade', (request, socket, head) => routeUpgrade(upgrades, request, socket, head))
  listener.serve(app)
  let closing: Promise<void> | undefined
  return {
    address,
    port,
    close(graceMs) {
      handling.streams.close()
      for (const route of upgrades) route.close()
      closing ??= drain(server, deps, graceMs).then(() => lastUsed.close())
      return closing
    },
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./i.test(address)
}

/** Sets the request id and the common response headers. */
function prepareExchange(deps: Deps): RequestHandler {
  return (request, response, next) => {
    const requestId = newId('req', deps.clock.wall())
    const docsUrl = errorDocsUrl(deps)
    const exchange: Exchange = {
      request,
      response,
      requestId,
      docsUrl,
      challenge: CHALLENGES.key,
      html: false,
    }
    response.locals.exchange = exchange
    limitRest(request, response, deps.clock)
    response.set({
      'x-request-id': requestId,
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
    })
    const started = deps.clock.now()
    const startedAt = deps.clock.wall()
    response.once('close', () => {
      const ms = deps.clock.now() - started
      // Log the route pattern instead of the URL, which contains ids and search terms.
      const route = request.route === undefined ? null : String(request.route.path)
      const operation: unknown = response.locals.operation
      deps.telemetry.request({
        requestId,
        method: request.method,
        operation: typeof operation === 'string' ? operation : null,
        route,
        status: response.statusCode,
        startedAt,
        ms,
        traceparent: request.header('traceparent') ?? null,
      })
      const fields = {
        requestId,
        method: request.method,
        route,
        status: response.statusCode,
        ms: Math.round(ms),
      }
      if (response.writableFinished) deps.log.info(fields, 'http.request')
      else deps.log.info(fields, 'http.request_aborted')
    })
    next()
  }
}

function routeHandler(handling: HandlerDeps, route: Route): RequestHandler {
  return async (_request, response) => {
    const exchange: Exchange = response.locals.exchange
    const method = exchange.request.method === 'HEAD' ? 'get' : exchange.request.method.toLowerCase()
    const mounted = route.byMethod.get(method as Method)
    if (mounted === undefined) {
      const refusal = refuse(
        'method_not_allowed',
        `This path does not support ${exchange.request.method}. The Allow header lists the supported methods.`,
        null,
        {
          allow: route.allow,
        },
      )
      return sendRefusal(exchange, refusal)
    }
    response.locals.operation = mounted.operation.id
    const { operation } = mounted
    const challenge = CHALLENGES[operation.audience]
    const html = prefersHtml(exchange, operation)
    if (isRefusal(html)) return sendRefusal(exchange, html)
    await handle(handling, mounted, { ...exchange, challenge, html })
  }
}

/** Negotiates between the renderings of a page (RFC 9110, 12.5.1). A client without a preference gets HTML. */
function prefersHtml({ request, response }: Exchange, { reply }: Operation): boolean | Refusal {
  if (reply !== 'page') return false
  response.vary('accept')
  const type = request.accepts('text/html', 'application/json')
  if (type === false) return refuse('not_acceptable', 'Accept text/html or application/json.')
  return type === 'text/html'
}

/** Handles errors that handlers throw: logs them with the request id and sends a generic error. */
function errorHandler(deps: Deps): ErrorRequestHandler {
  // Express recognises error handlers by their four parameters.
  return (error: unknown, _request, response, _next) => {
    const exchange: Exchange = response.locals.exchange
    if (error instanceof URIError) {
      sendRefusal(exchange, refuse('bad_request', 'The path contains invalid percent-encoding.'))
      return
    }
    if (error instanceof EngineError && error.code === 'overloaded' && error.retryable) {
      deps.log.warn({ requestId: exchange.requestId, error: errorText(error) }, 'http.request_rejected')
      sendRefusal(exchange, unavailable('The service is busy. Retry in a moment.', { reason: 'overloaded' }))
      return
    }
    if (isTransient(error) && !response.headersSent) {
      deps.log.error({ requestId: exchange.requestId, error: errorText(error) }, 'http.database_unavailable')
      sendRefusal(exchange, unavailable('The service is busy. Retry in a moment.', { reason: 'database' }))
      return
    }
    deps.log.error(
      {
        requestId: exchange.requestId,
        error: errorText(error),
        ...(error instanceof Error ? { stack: error.stack, cause: errorText(error.cause) } : {}),
        ...(error instanceof EngineError ? { code: error.code, context: error.context } : {}),
      },
      'http.request_failed',
    )
    // The head is sent already, so the only way to report the error is to close the connection.
    if (response.headersSent) response.destroy()
    else sendRefusal(exchange, refuse('internal_error', 'Internal error. Retry with backoff.'))
  }
}

/** Responds to bytes that the HTTP parser rejected. */
function rejectUnparsable(deps: Deps, error: Error, socket: Socket): void {
  const code = 'code' in error ? error.code : undefined
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const refusal =
    code === 'HPE_HEADER_OVERFLOW'
      ? refuse('headers_too_large', `The headers are too large. The limit is ${HEAD_BYTES} bytes.`)
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? refuse('request_timeout', 'The request was not received in time.')
        : refuse('bad_request', 'The request is not valid HTTP.')
  const line = `${refusal.status} ${STATUS_CODES[refusal.status]}`
  const requestId = newId('req', deps.clock.wall())
  const body = JSON.stringify(errorEnvelope(refusal, errorDocsUrl(deps), requestId))
  socket.end(
    `HTTP/1.1 ${line}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function listen(server: Server, { address, port }: HttpAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new EngineError('port_unavailable', `cannot listen on ${address} port ${port}: ${errorText(error)}`, {
          cause: error,
        }),
      )
    })
    server.listen({ host: address, port }, resolve)
  })
}

function drain(server: Server, deps: Deps, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = deps.clock.after(graceMs, () => server.closeAllConnections())
    server.close(() => {
      deadline.cancel()
      resolve()
    })
    // Without this, connections that become idle during shutdown would stay open for the keep-alive time.
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    server.keepAliveTimeout = 1
    server.closeIdleConnections()
  })
}
