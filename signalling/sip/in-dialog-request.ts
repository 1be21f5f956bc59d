import type { DigestClient } from '../trunk/digest-client.js'
import type { RawDialog, RawResponse } from './drachtio-types.js'

/** Of the interval: well before half of it, when the server refreshes. */
const REFRESH_SHARE = 0.4

/** What a request inside a dialog came to: its final response, or why there is none. */
export type InDialogResponseHandler = (error: unknown, response?: RawResponse) => void

/**
 * Sends a request inside a dialog, again with credentials when it is challenged: the library's own way
 * knows MD5 only, and forgets a BYE at the first answer. Calls `done` once. Never throws.
 */
export function sendInDialogRequest(
  raw: RawDialog,
  digest: DigestClient | null,
  request: { readonly method: 'INVITE' | 'BYE' | 'OPTIONS'; readonly body?: string },
  done: InDialogResponseHandler,
): void {
  let settled = false
  const finish: InDialogResponseHandler = (error, response) => {
    if (settled) return
    settled = true
    done(error, response)
  }
  const attempt = (headers: Readonly<Record<string, string>>): void => {
    try {
      raw.request({ ...request, headers }, (error, response) => {
        if (error || !response) {
          finish(error ?? new Error('no response'))
          return
        }
        if (settled || response.status < 200) return
        const credentials = digest === null ? null : answerTo(digest, request, response)
        if (credentials !== null) {
          attempt(credentials)
          return
        }
        if (response.status < 300) digest?.onAccepted()
        finish(null, response)
      })
    } catch (error) {
      finish(error)
    }
  }
  attempt({})
}

/** The headers that answer a challenge; null when it is none, or none we can or should answer. */
function answerTo(
  digest: DigestClient,
  { method, body = '' }: { readonly method: string; readonly body?: string },
  response: RawResponse,
): Readonly<Record<string, string>> | null {
  const { status } = response
  if (status !== 401 && status !== 407) return null
  const challenge = response.get(status === 407 ? 'Proxy-Authenticate' : 'WWW-Authenticate')
  if (challenge === undefined || !digest.onChallenge(status, challenge)) return null
  const uri = response.req?.uri ?? ''
  return Object.fromEntries(digest.headers({ method, uri, body }).map(({ name, value }) => [name, value]))
}

/**
 * What an OPTIONS inside a dialog tells of it (RFC 3261 12.2.1.2): only a server that knows no such
 * dialog, 481 and 408 say that it is over. Whoever has no OPTIONS answers all the same.
 */
export function dialogExists(error: unknown, response: RawResponse | undefined): boolean {
  return !error && response !== undefined && response.status !== 481 && response.status !== 408
}

/** When we refresh a session, by the Session-Expires of a 2xx to our INVITE; null when the peer does, or nobody. */
export function sessionRefreshDelayMs(sessionExpires: string | undefined): number | null {
  const [, seconds, params = ''] = /^\s*(\d{1,9})\s*(;.*)?$/.exec(sessionExpires ?? '') ?? []
  if (seconds === undefined || /;\s*refresher\s*=\s*uas/i.test(params)) return null
  return Number(seconds) * 1000 * REFRESH_SHARE
}
