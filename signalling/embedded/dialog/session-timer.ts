import type { Core } from '../core.js'
import type { SipResponse } from '../message/sip-message.js'
import type { Dialog } from './dialog.js'
import { MIN_SE_S, parseSessionExpires } from './session-expires.js'

/*
 * The clock of a session (RFC 4028): started by each 2xx that says so. What happens when it runs
 * out is done in `session-refresh.ts`.
 */

/** Longest delay a timer takes: 2^31 ms. Nobody means more than these 23 days. */
const MAX_INTERVAL_S = 2_000_000
/** Refreshes of many calls set up at once spread over this time to either side, in ms. */
const SPREAD_MS = 5_000

/**
 * Starts, restarts or ends the timer of a dialog as the 2xx to an INVITE or UPDATE says; `side` is
 * our part in that transaction. Without Session-Expires there is no expiry (RFC 4028 7.2).
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
  const ours = (agreed.refresher ?? 'uac') === side
  const half = intervalS * 500 + (Math.random() * 2 - 1) * SPREAD_MS
  startSessionTimer(core, dialog, intervalS, ours, ours ? half : intervalS * 1000)
}

/** Sets the timer of a running session, for the first time or again. */
export function startSessionTimer(
  core: Core,
  dialog: Dialog,
  intervalS: number,
  ours: boolean,
  delayMs: number,
): void {
  dialog.sessionTimer?.timer.cancel()
  const timer = core.scope.after(core.clock, delayMs, () =>
    core.onSessionTimer(dialog, ours ? 'refresh' : 'expired'),
  )
  dialog.sessionTimer = { intervalS, weRefresh: ours, timer }
}
