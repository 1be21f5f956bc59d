import { type Header, headersOf, type SipResponse } from '../message/sip-message.js'

/** Among the 4xx these give the caller the most information (RFC 3261 16.7 step 6). */
const INFORMATIVE: readonly number[] = [401, 407, 415, 420, 484]
const CHALLENGES: readonly string[] = ['WWW-Authenticate', 'Proxy-Authenticate']

/**
 * Chooses the failure that a proxy forwards when all destinations failed (RFC 3261 16.7 steps 6 and 7): a 6xx
 * if there is one, else a response of the lowest class. A 401 or 407 carries the challenges of all
 * destinations. Returns null for an empty list.
 *
 * Serves `proxy` commands of `parley sip-server`; calls of the service do not use it.
 */
export function bestFailure(failures: readonly SipResponse[]): SipResponse | null {
  let best: SipResponse | null = null
  for (const failure of failures) {
    if (best === null || rank(failure) < rank(best)) best = failure
  }
  if (best === null) return null
  if (best.status === 503) return { ...best, status: 500, reason: 'Server Internal Error' }
  if (best.status !== 401 && best.status !== 407) return best
  const more: Header[] = []
  for (const failure of failures) {
    if (failure === best || (failure.status !== 401 && failure.status !== 407)) continue
    for (const name of CHALLENGES) {
      for (const value of headersOf(failure, name)) more.push({ name, value })
    }
  }
  return more.length === 0 ? best : { ...best, headers: [...best.headers, ...more] }
}

function rank({ status }: SipResponse): number {
  if (status >= 600) return 0
  const kind = Math.floor(status / 100) * 1000
  return kind + (INFORMATIVE.includes(status) ? 0 : 1)
}
