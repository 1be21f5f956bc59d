import type { DigestClient } from '../trunk/digest-client.js'
import type { PeerAnswer } from './dialog-port.js'
import type { RawDialog, RawMessage, RawResponse } from './drachtio-types.js'
import { knowsTimer } from './option-tags.js'

/** Share of the interval: well before the half at which the server refreshes. */
const REFRESH_SHARE = 0.4

/** Receives the final response to a request inside a dialog, or the reason why there is none. */
export type InDialogResponseHandler = (error: unknown, response?: RawResponse) => void

export interface InDialogRequest {
  readonly method: 'INVITE' | 'BYE' | 'OPTIONS' | 'NOTIFY'
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends a request inside a dialog, and repeats it with credentials when challenged. The library's own method
 * supports MD5 only, and forgets a BYE after the first response. Calls `done` once. Never throws.
 */
export function sendInDialogRequest(
  raw: RawDialog,
  digest: DigestClient | null,
  request: InDialogRequest,
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
      raw.request({ ...request, headers: { ...request.headers, ...headers } }, (error, response) => {
        if (error || !response) {
          finish(error ?? new Error('no response'))
          return
        }
        if (settled || response.status < 200) return
        const credentials = digest === null ? null : credentialHeaders(digest, request, response)
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

/**
 * Returns the headers that answer a challenge; null when there is no challenge or none that can be answered.
 */
function credentialHeaders(
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
 * Returns whether a dialog still exists, from the response to an OPTIONS inside it (RFC 3261 12.2.1.2): only
 * 481 and 408 say that it is over. A peer without support for OPTIONS responds all the same.
 */
export function dialogExists(error: unknown, response: RawResponse | undefined): boolean {
  return !error && response !== undefined && response.status !== 481 && response.status !== 408
}

/**
 * Returns the state of a dialog after an OPTIONS inside it. A response that the SIP server made itself, without a source, is
 * no answer of the peer.
 */
export function peerAnswer(error: unknown, response: RawResponse | undefined): PeerAnswer {
  if (error || response === undefined || response.status === 408 || !response.source_address)
    return 'unanswered'
  return response.status === 481 ? 'gone' : 'exists'
}

/** The minimum session interval (s) (RFC 4028 4). */
const MIN_SE_S = 90

/**
 * Returns the refusal of an INVITE or UPDATE with a session interval below the minimum; null when the interval is
 * acceptable. A sender that does not support session timers is not refused, because a proxy added the interval: the
 * answer raises it (RFC 4028 9). The embedded server refuses such a request itself, a drachtio-server does not.
 */
export function sessionIntervalError(
  req: RawMessage,
): { readonly status: 422; readonly headers: Record<string, string> } | null {
  const [, seconds] = /^\s*(\d{1,10})\s*(?:;|$)/.exec(req.get('Session-Expires') ?? '') ?? []
  if (seconds === undefined || Number(seconds) >= MIN_SE_S || !knowsTimer(req)) return null
  return { status: 422, headers: { 'Min-SE': String(MIN_SE_S) } }
}

/**
 * Returns when to refresh the session (ms), from the Session-Expires of a 2xx to our INVITE (RFC 4028).
 * Returns null when the peer refreshes, or no refresh is agreed.
 */
export function sessionRefreshDelayMs(sessionExpires: string | undefined): number | null {
  const [, seconds, params = ''] = /^\s*(\d{1,9})\s*(;.*)?$/.exec(sessionExpires ?? '') ?? []
  if (seconds === undefined || /;\s*refresher\s*=\s*uas/i.test(params)) return null
  return Number(seconds) * 1000 * REFRESH_SHARE
}
