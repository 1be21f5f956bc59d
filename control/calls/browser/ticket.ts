import { newId } from '../../../media/base/ids.js'
import type { RootKey } from '../../base/root-key.js'
import { readAddressToken, writeAddressToken } from '../../base/signed-address.js'
import type { Talk } from './talk.js'

/** Time in which the call must begin (ms). */
export const TICKET_MS = 60_000

/** What a ticket permits: one call of one user with one version of an agent. */
export interface TalkTicket extends Talk {
  /** The id that the call will have. The key of the calls makes each ticket good for one call. */
  readonly callId: string
  readonly userId: string
}

/** Makes a ticket. Nothing is stored before its use. */
export function issueTicket(
  rootKey: RootKey,
  { talk, userId }: { readonly talk: Talk; readonly userId: string },
  now: number,
): { readonly callId: string; readonly token: string; readonly expiresAt: number } {
  const callId = newId('call', now)
  const expiresAt = now + TICKET_MS
  const ticket: TalkTicket = { ...talk, callId, userId }
  const subject = JSON.stringify(ticket)
  return { callId, token: writeAddressToken(rootKey, 'browser_call', { subject, expiresAt }), expiresAt }
}

/** Reads a ticket. Returns null for one that this service did not make, or that has expired. */
export function readTicket(rootKey: RootKey, token: string, now: number): TalkTicket | null {
  const grant = readAddressToken(rootKey, 'browser_call', token, now)
  // The token is authentic, so it has the fields written above.
  return grant === null ? null : (JSON.parse(grant.subject) as TalkTicket)
}
