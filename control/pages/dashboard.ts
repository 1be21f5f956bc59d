import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express, { Router } from 'express'
import { projectRoot } from '../../media/base/project-root.js'
import type { Deps } from '../api/deps.js'

/** Folder of the dashboard that `node deploy/setup.mjs` builds. */
const FOLDER = join(projectRoot, '.build', 'dashboard')
const YEAR_SECONDS = 365 * 24 * 3600

/** Own files only. Styles that the components add while they run carry the nonce of the page. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Returns the router of the dashboard at `/dashboard/`. All its addresses but those of files get the same page. */
export function dashboardPages(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  options: { readonly folder?: string } = {},
): Router {
  const folder = options.folder ?? FOLDER
  const page = readPage(folder)
  const router = Router({ caseSensitive: true, strict: true })
  router.get('/dashboard', (_request, response) => {
    // Relative, so that the redirect also works below a path prefix of a proxy.
    response.status(302).set('location', 'dashboard/').end()
  })
  router.use(
    '/dashboard/assets',
    express.static(join(folder, 'assets'), {
      // The names hold a hash of the content.
      immutable: true,
      maxAge: YEAR_SECONDS * 1000,
      index: false,
      redirect: false,
      dotfiles: 'allow',
    }),
    (_request, response) => {
      // A file of an earlier build: the page of this build must not be taken for it.
      response.status(404).type('text').send('The file does not exist. Reload the page.')
    },
  )
  router.get('/dashboard/icon.svg', (_request, response) => {
    response.sendFile(join(folder, 'icon.svg'), { dotfiles: 'allow' })
  })
  router.get('/dashboard/{*path}', (_request, response) => {
    if (page === null) {
      response.status(503).type('text').send('The dashboard is not built. Run: node deploy/setup.mjs')
      return
    }
    const nonce = randomBytes(16).toString('base64')
    const base = `${new URL(publicUrl()).pathname.replace(/\/$/, '')}/dashboard/`
    response
      .set({
        'content-security-policy': policy(nonce),
        'cache-control': 'no-store',
        'permissions-policy': 'microphone=(self)',
        'cross-origin-opener-policy': 'same-origin',
      })
      .type('html')
      .send(page.replaceAll('__NONCE__', nonce).replaceAll('__BASE__', base))
  })
  return router
}

/** Reads the page. Returns null when the dashboard was not built. */
function readPage(folder: string): string | null {
  try {
    return readFileSync(join(folder, 'index.html'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
