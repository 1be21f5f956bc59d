import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Router } from 'express'
import { errorsPage } from './errors-page.js'

/** Content security policy: only own files, no inline scripts. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const
const DAY_SECONDS = 86_400

/**
 * Returns the router of the documentation: the API reference at `/docs` and the error codes at
 * `/docs/errors`.
 */
export function docsPages(): Router {
  const router = Router({ caseSensitive: true, strict: true })
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  router.get('/docs', (_request, response) => {
    response.set('content-security-policy', POLICY).type('html').send(REFERENCE_PAGE)
  })
  router.get('/docs/errors', (_request, response) => {
    response.set('content-security-policy', POLICY).type('html').send(errorsPage())
  })
  router.get('/docs/assets/start.js', (_request, response) => {
    response.type('js').send(START_SCRIPT)
  })
  router.get('/docs/assets/page.css', (_request, response) => {
    response.type('css').send(PAGE_STYLE)
  })
  for (const name of ASSETS) {
    router.get(`/docs/assets/${name}`, (_request, response, next) => {
      response.set('cache-control', `public, max-age=${DAY_SECONDS}`)
      response.sendFile(join(folder, name), { cacheControl: false, dotfiles: 'allow' }, (error?: Error) => {
        // A sent file and an aborted request need no further handler.
        if (error !== undefined && !response.headersSent && response.writable) next(error)
      })
    })
  }
  // Relative, so that the redirects also work below a path prefix of a proxy.
  for (const [path, target] of REDIRECTS) {
    router.get(path, (_request, response) => {
      response.status(302).set('location', target).end()
    })
  }
  return router
}

const REDIRECTS = [
  ['/', 'docs'],
  ['/docs/', '../docs'],
  ['/docs/errors/', '../errors'],
  // Browsers ask for it where a page names no icon.
  ['/favicon.ico', 'docs/assets/favicon-32x32.png'],
] as const

// URLs are relative, so that the pages also work below a path prefix of a proxy.
const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley API</title>
<link rel="icon" href="docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="stylesheet" href="docs/assets/page.css">
<div id="reference"><noscript>The reference needs JavaScript; <a href="v1/openapi.json">openapi.json</a> does not.</noscript></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/assets/start.js"></script>
</html>
`

const START_SCRIPT = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
})
`

const PAGE_STYLE = `body { margin: 0; font-family: system-ui, sans-serif; line-height: 1.5 }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2rem; font: 600 1.1rem ui-monospace, monospace }
h2:target { background: #fff3bf }
p { margin: 0.25rem 0 }
`
