import type { Core } from '../core.js'
import { headerOf, type SipMessage } from '../message/sip-message.js'
import type { ReceivedRequest } from '../user-agent/pending-requests.js'
import { reject } from '../user-agent/request-dispatch.js'
import { type Dialog, dialogId } from './dialog.js'

/*
 * Subscriptions as dialogs (RFC 6665): their expiry, and NOTIFYs that arrive before the 2xx. Serves
 * applications of `parley sip-server`; calls of the service do not use it.
 */

/** Duration (s) of a subscription without any Expires. */
const DEFAULT_EXPIRES_S = 3600
/** Upper bound (s), below the maximum timer delay of 2^31 ms. */
const MAX_EXPIRES_S = 2_000_000
/** Maximum number of NOTIFYs held for one SUBSCRIBE. */
const MAX_HELD = 8

/**
 * Starts the expiry timer of a subscription with the 2xx to its SUBSCRIBE. The last NOTIFY may take the time
 * of a transaction longer (RFC 6665 4.1.2.4: timer N).
 */
export function startSubscriptionTimer(
  core: Core,
  dialog: Dialog,
  request: SipMessage,
  response: SipMessage,
): void {
  const value = headerOf(response, 'Expires') ?? headerOf(request, 'Expires')
  const seconds = value !== null && /^\d{1,10}$/.test(value) ? Number(value) : DEFAULT_EXPIRES_S
  expireAfter(core, dialog, seconds)
}

/** Applies the `expires` of a NOTIFY, which may shorten or extend the subscription. */
export function applyNotifyExpires(core: Core, dialog: Dialog, notify: SipMessage): void {
  const state = headerOf(notify, 'Subscription-State') ?? ''
  const seconds = /;\s*expires\s*=\s*(\d{1,10})/i.exec(state)?.[1]
  if (seconds !== undefined) expireAfter(core, dialog, Number(seconds))
}

function expireAfter(core: Core, dialog: Dialog, seconds: number): void {
  if (dialog.method !== 'SUBSCRIBE' || dialog.ended) return
  dialog.expiryTimer?.cancel()
  const ms = Math.min(seconds, MAX_EXPIRES_S) * 1000 + core.timers.transactionTimeout
  dialog.expiryTimer = core.scope.after(core.clock, ms, () => core.dialogs.remove(dialog))
}

/**
 * Holds a NOTIFY that arrived before the 2xx to our SUBSCRIBE, because the application does not know the
 * dialog yet. Returns false when no such SUBSCRIBE is in progress.
 */
export function holdNotify(core: Core, received: ReceivedRequest, toTag: string): boolean {
  const held = core.heldNotifies.get(dialogId(received.essentials.callId, toTag))
  if (held === undefined || held.length >= MAX_HELD) return false
  held.push(received)
  return true
}

/** Ends the wait for the response to a SUBSCRIBE. Returns the held NOTIFYs, oldest first. */
export function takeHeldNotifies(core: Core, id: string): readonly ReceivedRequest[] {
  const held = core.heldNotifies.get(id) ?? []
  core.heldNotifies.delete(id)
  return held
}

export function rejectHeldNotifies(core: Core, id: string): void {
  for (const received of takeHeldNotifies(core, id)) reject(core, received, 481)
}
