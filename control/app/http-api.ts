import { vendorHangups } from '../calls/vendor-hangup-api.js'
import { type HttpServer, type HttpServerOptions, openHttpServer } from '../http/server.js'
import { docsPages } from '../openapi/docs-pages.js'

/**
 * Serves the operations, the documentation pages and the hang-up requests of other vendors' bots.
 * Throws EngineError `port_unavailable` when the port cannot be bound.
 */
export function openHttpApi(options: Omit<HttpServerOptions, 'pages' | 'routers'>): Promise<HttpServer> {
  return openHttpServer({
    ...options,
    pages: [docsPages()],
    routers: (keys) => [vendorHangups(options.deps, keys)],
  })
}
