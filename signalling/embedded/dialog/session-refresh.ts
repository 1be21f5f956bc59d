import type { Core } from '../core.js'
import { parseInteger } from '../message/sip-header.js'
import { type Header, headerOf, NO_BODY, type SipRequest, type SipResponse } from '../message/sip-message.js'
import type { Dialog } from './dialog.js'
import { ackOwnReinvite, hangUp, sendRequestInDialog } from './in-dialog-request.js'
import { MIN_SE_S, type SessionTimer } from './session-expires.js'
import { startSessionTimer } from './session-timer.js'

/*
 * Acts when a session timer fires: refreshes the session without notifying the application, or ends the call.
 */

const EXPIRED = 'Session timer expired'
/** Delay (ms) of the refresh while another change of the session is in progress. */
const BUSY_MS = 2_000

export function onSessionTimer(core: Core, dialog: Dialog, what: 'refresh' | 'expired'): void {
  const session = dialog.sessionTimer
  if (dialog.ended || session === null) return
  if (what === 'expired') {
    hangUp(core, dialog, EXPIRED)
    return
  }
  const busy =
    dialog.localInvite?.phase === 'open' ||
    dialog.pendingLocalUpdates > 0 ||
    dialog.pendingRemoteInvite !== null ||
    dialog.pendingRemoteUpdate ||
    dialog.okRetransmitters.size > 0
  if (busy) startSessionTimer(core, dialog, session.intervalS, true, BUSY_MS)
  else refresh(core, dialog, session, session.intervalS, MIN_SE_S)
}

function refresh(core: Core, dialog: Dialog, session: SessionTimer, intervalS: number, minS: number): void {
  dialog.localSeq += 1
  const cseq = dialog.localSeq
  const request = refreshRequest(dialog, intervalS, minS)
  const sent = sendRequestInDialog(core, dialog, request, dialog.remoteTarget, cseq, {
    app: null,
    onSent: () => {},
    onRefused: () => hangUp(core, dialog, EXPIRED),
    onResponse: (response) => onResponse(core, dialog, session, response, request.method),
  })
  if (sent === null) hangUp(core, dialog, EXPIRED)
}

/** Returns a re-INVITE with the latest description, or an UPDATE without one when none is known. */
function refreshRequest(dialog: Dialog, intervalS: number, minS: number): SipRequest {
  const headers: Header[] = [
    { name: 'Supported', value: 'timer' },
    { name: 'Session-Expires', value: `${intervalS};refresher=uac` },
    { name: 'Min-SE', value: String(minS) },
  ]
  const { localSdp, remoteTarget: uri } = dialog
  if (localSdp === null) return { kind: 'request', method: 'UPDATE', uri, headers, body: NO_BODY }
  headers.push({ name: 'Content-Type', value: 'application/sdp' })
  return { kind: 'request', method: 'INVITE', uri, headers, body: localSdp }
}

function onResponse(
  core: Core,
  dialog: Dialog,
  session: SessionTimer,
  response: SipResponse,
  method: string,
): void {
  const { status } = response
  if (status < 200 || dialog.ended) return
  if (status < 300) {
    if (method === 'INVITE') ackOwnReinvite(core, dialog)
    // A peer that answers without Session-Expires still has to be refreshed.
    if (dialog.sessionTimer === null)
      startSessionTimer(core, dialog, session.intervalS, true, session.intervalS * 500)
    return
  }
  if (status === 491) {
    startSessionTimer(core, dialog, session.intervalS, true, glareDelayMs(dialog))
    return
  }
  const minimumS = parseInteger(headerOf(response, 'Min-SE') ?? '', 2 ** 31)
  if (status === 422 && minimumS !== null && minimumS > session.intervalS) {
    refresh(core, dialog, { ...session, intervalS: minimumS }, minimumS, minimumS)
    return
  }
  hangUp(core, dialog, EXPIRED)
}

/**
 * Returns the delay (ms) after a 491 (RFC 3261 14.1): the owner of the Call-ID waits 2.1 to 4 s, the other
 * side 0 to 2 s, in steps of 10 ms.
 */
function glareDelayMs(dialog: Dialog): number {
  const step = (from: number, to: number) => from + 10 * Math.floor(Math.random() * ((to - from) / 10 + 1))
  return dialog.role === 'uac' ? step(2_100, 4_000) : step(0, 2_000)
}
