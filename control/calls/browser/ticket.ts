import type { RootKey } from '../../base/root-key.js'
import { readAddressToken, writeAddressToken } from '../../base/signed-address.js'
import type { Talk } from './talk.js'

/** Time in which the call must begin (ms). */
export const TICKET_MS = 60_000

/** One call of one user with one version of an agent. */
export interface TalkTicket extends Talk {
  readonly purpose: 'talk'
  /** The id that the call will have. The key of the calls makes each ticket good for one call. */
  readonly callId: string
  readonly userId: string
}

/** One leg of one user in a running call. */
export interface MonitorTicket {
  readonly purpose: 'listen' | 'takeover'
  /** The id that the listening or the takeover will have. Its key makes each ticket good for one. */
  readonly id: string
  readonly callId: string
  /** The process that carries the call. */
  readonly nodeId: string
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly userId: string
  readonly sessionId: string
}

/** Rights of a ticket. */
export type BrowserTicket = TalkTicket | MonitorTicket

/** Makes a ticket. Nothing is stored before its use. */
export function issueTicket(
  rootKey: RootKey,
  ticket: BrowserTicket,
  now: number,
): { readonly token: string; readonly expiresAt: number } {
  const expiresAt = now + TICKET_MS
  const subject = JSON.stringify(ticket)
  return { token: writeAddressToken(rootKey, 'browser_call', { subject, expiresAt }), expiresAt }
}

/** Reads a ticket. Returns null for one that this service did not make, or that has expired. */
export function readTicket(rootKey: RootKey, token: string, now: number): BrowserTicket | null {
  const grant = readAddressToken(rootKey, 'browser_call', token, now)
  // The token is authentic, so it has the fields written above.
  return grant === null ? null : (JSON.parse(grant.subject) as BrowserTicket)
}
