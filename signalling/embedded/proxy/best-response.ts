import { type Header, headersOf, type SipResponse } from '../message/sip-message.js'

/** Among 4xx these tell the caller more than others (RFC 3261 16.7 step 6). */
const TELLING: readonly number[] = [401, 407, 415, 420, 484]
const CHALLENGES: readonly string[] = ['WWW-Authenticate', 'Proxy-Authenticate']

/**
 * The failure a proxy passes on when all destinations failed (RFC 3261 16.7 step 6 and 7): a 6xx if
 * there is one, else of the lowest class; challenges of all destinations go along with a 401 or
 * 407. Null for an empty list.
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
  return kind + (TELLING.includes(status) ? 0 : 1)
}
