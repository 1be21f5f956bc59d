import type { Request, Response } from 'express'
import type { Deps } from '../api/deps.js'

/** Returns the page that explains error codes; `#<code>` is appended. */
export function errorDocsUrl(deps: Pick<Deps, 'publicUrl'>): string {
  return `${deps.publicUrl()}/docs/errors`
}

/** An HTTP request and its response. */
export interface Exchange {
  readonly request: Request
  readonly response: Response
  readonly requestId: string
  readonly docsUrl: string
  /** `WWW-Authenticate` value of a 401 on this path (RFC 9110, 11.6.1). */
  readonly challenge: string
  /** True if the client prefers HTML and the operation has it. Refusals then are pages, too. */
  readonly html: boolean
}

/** Returns true for safe methods (RFC 9110, 9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}
