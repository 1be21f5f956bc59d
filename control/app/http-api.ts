import { browserSipRoute } from '../calls/browser/sip-api.js'
import { listenRoute } from '../calls/monitors/listen-api.js'
import { vendorHangups } from '../calls/vendor-hangup-api.js'
import { type HttpListener, type HttpServer, type HttpServerOptions, serveHttp } from '../http/server.js'
import { docsPages } from '../openapi/docs-pages.js'
import { accountPages } from '../pages/account-pages.js'
import { checkoutPages } from '../pages/checkout-pages.js'
import { dashboardPages } from '../pages/dashboard.js'

/**
 * Serves the operations, the documentation pages, the pages that mails link to, the checkout page, the dashboard, the audio
 * of live calls, and the hang-up requests of other vendors' bots.
 */
export function serveHttpApi(
  listener: HttpListener,
  options: Pick<HttpServerOptions, 'operations' | 'deps'>,
): HttpServer {
  return serveHttp(listener, {
    ...options,
    pages: [
      docsPages(),
      accountPages(options.deps),
      checkoutPages(options.deps),
      dashboardPages(options.deps),
    ],
    upgrades: [listenRoute(options.deps), browserSipRoute(options.deps)],
    routers: (keys) => [vendorHangups(options.deps, keys)],
  })
}
