import type { Core } from '../core.js'
import { headerOf, type SipMessage } from '../message/sip-message.js'
import type { ReceivedRequest } from '../user-agent/pending-requests.js'
import { reject } from '../user-agent/request-dispatch.js'
import { type Dialog, dialogId } from './dialog.js'

/*
 * Subscriptions as dialogs (RFC 6665): their end by time, and NOTIFYs that overtake the 2xx.
 */

/** What a subscription without any Expires counts for, in seconds. */
const DEFAULT_EXPIRES_S = 3600
/** Longest delay a timer takes, in seconds. */
const MAX_EXPIRES_S = 2_000_000
/** NOTIFYs kept for one SUBSCRIBE. */
const MAX_HELD = 8

/**
 * Sets the end of a subscription by the 2xx to its SUBSCRIBE. The last NOTIFY may take as long as a
 * transaction (RFC 6665 4.1.2.4: timer N).
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

/** A NOTIFY may shorten or stretch the time left. */
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
 * Keeps a NOTIFY that came before the 2xx to our SUBSCRIBE: the application does not know the
 * dialog yet. False when no such SUBSCRIBE is under way.
 */
export function holdNotify(core: Core, arrival: ReceivedRequest, toTag: string): boolean {
  const held = core.heldNotifies.get(dialogId(arrival.essentials.callId, toTag))
  if (held === undefined || held.length >= MAX_HELD) return false
  held.push(arrival)
  return true
}

/** Ends the wait for a SUBSCRIBE's answer; the NOTIFYs kept meanwhile, oldest first. */
export function takeHeldNotifies(core: Core, id: string): readonly ReceivedRequest[] {
  const held = core.heldNotifies.get(id) ?? []
  core.heldNotifies.delete(id)
  return held
}

export function rejectHeldNotifies(core: Core, id: string): void {
  for (const arrival of takeHeldNotifies(core, id)) reject(core, arrival, 481)
}
