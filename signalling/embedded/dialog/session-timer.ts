import type { Core } from '../core.js'
import type { SipResponse } from '../message/sip-message.js'
import type { Dialog } from './dialog.js'
import { MIN_SE_S, parseSessionExpires } from './session-expires.js'

/*
 * Session timers (RFC 4028), started by each 2xx with Session-Expires. `session-refresh.ts` acts when one
 * fires.
 */

/** Upper bound (s) of an interval, below the maximum timer delay of 2^31 ms (24 days). */
const MAX_INTERVAL_S = 2_000_000
/** Random spread (ms) to either side, so that calls set up together do not refresh together. */
const SPREAD_MS = 5_000

/**
 * Starts, restarts or ends the timer of a dialog according to the 2xx to an INVITE or UPDATE; `side` is our
 * role in that transaction. Without Session-Expires the session does not expire (RFC 4028 7.2).
 */
export function applySessionExpires(
  core: Core,
  dialog: Dialog,
  response: SipResponse,
  side: 'uac' | 'uas',
): void {
  dialog.sessionTimer?.timer.cancel()
  dialog.sessionTimer = null
  const agreed = parseSessionExpires(response)
  if (agreed === null || dialog.ended || dialog.method !== 'INVITE') return
  const intervalS = Math.min(Math.max(MIN_SE_S, agreed.seconds), MAX_INTERVAL_S)
  const weRefresh = (agreed.refresher ?? 'uac') === side
  const half = intervalS * 500 + (Math.random() * 2 - 1) * SPREAD_MS
  startSessionTimer(core, dialog, intervalS, weRefresh, weRefresh ? half : expiryMs(intervalS))
}

/**
 * Returns the time (ms) after which a session without a refresh ends: the interval minus 32 s, or minus a third of the
 * interval if that is shorter than 32 s. The BYE then arrives while the peer still has the session (RFC 4028 10).
 */
function expiryMs(intervalS: number): number {
  return (intervalS - Math.min(32, intervalS / 3)) * 1000
}

/** Sets or replaces the timer of a session. */
export function startSessionTimer(
  core: Core,
  dialog: Dialog,
  intervalS: number,
  weRefresh: boolean,
  delayMs: number,
): void {
  dialog.sessionTimer?.timer.cancel()
  const timer = core.scope.after(core.clock, delayMs, () =>
    core.onSessionTimer(dialog, weRefresh ? 'refresh' : 'expired'),
  )
  dialog.sessionTimer = { intervalS, weRefresh, timer }
}
