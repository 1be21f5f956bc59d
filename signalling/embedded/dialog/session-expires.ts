import type { Timer } from '../../../media/base/clock.js'
import { paramOf } from '../message/sip-header.js'
import { type Header, headerOf, headersOf, type SipMessage, type SipRequest } from '../message/sip-message.js'

/* Session-Expires as data (RFC 4028). `session-timer.ts` and `session-refresh.ts` act on it. */

/** The minimum session interval (s) (RFC 4028 4). */
export const MIN_SE_S = 90

/** A running session timer of a dialog. */
export interface SessionTimer {
  readonly intervalS: number
  /** True if this server refreshes the session; otherwise it waits for the peer to refresh. */
  readonly weRefresh: boolean
  readonly timer: Timer
}

export interface SessionExpires {
  readonly seconds: number
  readonly refresher: 'uac' | 'uas' | null
}

/** Parses Session-Expires. Returns null when the header is absent or malformed. */
export function parseSessionExpires(message: { readonly headers: readonly Header[] }): SessionExpires | null {
  const value = headerOf(message, 'Session-Expires')
  if (value === null) return null
  const end = value.indexOf(';')
  const text = (end < 0 ? value : value.slice(0, end)).trim()
  if (!/^\d{1,10}$/.test(text)) return null
  const wanted = end < 0 ? null : paramOf(value.slice(end), 'refresher')?.toLowerCase()
  return { seconds: Number(text), refresher: wanted === 'uac' || wanted === 'uas' ? wanted : null }
}

/**
 * Returns whether a request gets 422 because its interval is below the minimum. A sender without support for session
 * timers never gets 422: a proxy added the interval, so the answer raises it instead (RFC 4028 9).
 */
export function isIntervalTooSmall(request: SipRequest): boolean {
  if (request.method !== 'INVITE' && request.method !== 'UPDATE') return false
  if (!knowsTimer(request)) return false
  const requested = parseSessionExpires(request)
  return requested !== null && requested.seconds < MIN_SE_S
}

/** Returns whether a list header (Supported, Require) names an option tag. */
export function hasOptionTag(message: SipMessage, header: string, option: string): boolean {
  return headersOf(message, header).some((line) =>
    line.split(',').some((tag) => tag.trim().toLowerCase() === option),
  )
}

function knowsTimer(request: SipRequest): boolean {
  return hasOptionTag(request, 'Supported', 'timer') || hasOptionTag(request, 'Require', 'timer')
}

/**
 * Returns the session timer headers of a 2xx to an INVITE or UPDATE that the application did not set: the interval of
 * the peer, raised to the minimum. Empty when no timer was requested. When the request names no refresher,
 * `preference` does; when the peer does not support session timers, this side refreshes (RFC 4028 9, table 2).
 */
export function sessionTimerHeaders(
  request: SipRequest,
  given: readonly Header[],
  preference: 'none' | 'uac' | 'uas',
): readonly Header[] {
  const chosen = parseSessionExpires({ headers: given })
  const requested = parseSessionExpires(request)
  const headers: Header[] = []
  let refresher = chosen?.refresher ?? null
  if (chosen === null) {
    if (requested === null) return []
    if (requested.refresher === null && preference === 'none') return []
    refresher = requested.refresher ?? (knowsTimer(request) && preference !== 'none' ? preference : 'uas')
    const seconds = Math.max(MIN_SE_S, requested.seconds)
    headers.push({ name: 'Session-Expires', value: `${seconds};refresher=${refresher}` })
  }
  // RFC 4028 9: a caller that has to refresh must find `timer` in Require.
  const required = given.some((header) => header.name === 'Require' && /\btimer\b/i.test(header.value))
  if (refresher === 'uac' && !required && knowsTimer(request)) {
    headers.push({ name: 'Require', value: 'timer' })
  }
  return headers
}
