import { parseInteger } from '../message/sip-header.js'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../message/sip-message.js'
import type { Dialog } from './dialog.js'
import { hasOptionTag } from './session-expires.js'

/* Reliable provisional responses (RFC 3262): matching of RSeq and RAck. */

/** Maximum number of unacknowledged provisional responses of one fork. */
const MAX_UNPRACKED = 32

interface RAck {
  readonly rseq: number
  readonly cseq: number
}

/**
 * Parses the RAck of an INVITE. Returns null when it is absent or malformed. Text after the method is
 * ignored, because a well-known test tool writes the method twice.
 */
export function parseRAck(message: SipMessage): RAck | null {
  const match = /^(\d{1,10})\s+(\d{1,10})\s+INVITE\b/.exec(headerOf(message, 'RAck') ?? '')
  const rseq = parseInteger(match?.[1] ?? '', 2 ** 32)
  const cseq = parseInteger(match?.[2] ?? '', 2 ** 31)
  return rseq === null || cseq === null ? null : { rseq, cseq }
}

/** Returns whether a PRACK of a peer acknowledges the reliable response in progress, which then ends. */
export function acceptPrack(dialog: Dialog, prack: SipRequest): boolean {
  const rack = parseRAck(prack)
  return rack !== null && dialog.reliableResponses?.acknowledge(rack.rseq, rack.cseq) === true
}

/** Returns the RSeq of a reliable provisional response, or null for any other response. */
export function reliableRSeq(response: SipResponse): number | null {
  if (response.status <= 100 || response.status >= 200) return null
  if (!hasOptionTag(response, 'Require', '100rel')) return null
  return parseInteger(headerOf(response, 'RSeq') ?? '', 2 ** 32)
}

/**
 * Records a provisional response to our INVITE. Returns false for a retransmission or a response out of
 * order, which has to be dropped (RFC 3262 4).
 */
export function acceptProvisional(dialog: Dialog, response: SipResponse, cseq: number): boolean {
  const rseq = reliableRSeq(response)
  if (rseq === null) return true
  if (dialog.lastRseq !== null && rseq !== dialog.lastRseq + 1) return false
  if (dialog.pendingPracks.length >= MAX_UNPRACKED) return false
  dialog.lastRseq = rseq
  dialog.pendingPracks.push({ rseq, cseq })
  return true
}

/**
 * Returns the PRACK of an application with the RAck of the response it acknowledges, or null when no response
 * waits for it.
 */
export function completePrack(dialog: Dialog, prack: SipRequest): SipRequest | null {
  const wanted = parseRAck(prack)
  const at = dialog.pendingPracks.findIndex(({ rseq }) => wanted === null || rseq === wanted.rseq)
  const found = dialog.pendingPracks[at]
  if (found === undefined) return null
  dialog.pendingPracks.splice(at, 1)
  const headers = prack.headers.filter((header) => header.name !== 'RAck')
  return { ...prack, headers: [...headers, { name: 'RAck', value: `${found.rseq} ${found.cseq} INVITE` }] }
}
