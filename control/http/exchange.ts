import type { Request, Response } from 'express'
import type { Deps } from '../api/deps.js'

/** Returns the page that explains error codes; `#<code>` is appended. */
export function errorDocsUrl(deps: Pick<Deps, 'publicUrl'>): string {
  return `${deps.publicUrl()}/docs/errors`
}

/** One request being answered. */
export interface Exchange {
  readonly request: Request
  readonly response: Response
  readonly requestId: string
  readonly docsUrl: string
  /** What a 401 asks for (RFC 9110 11.6.1): the way to authenticate on this path. */
  readonly challenge: string
}

/** Methods that change nothing (RFC 9110 9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}
