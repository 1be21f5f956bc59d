import { newId } from '../../../media/base/ids.js'
import type { SessionActor } from '../../api/actor.js'
import type { RootKey } from '../../base/root-key.js'
import { readAddressToken, writeAddressToken } from '../../base/signed-address.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { NewMonitor } from './store.js'

/** Time in which a ticket must be used (ms). */
export const TICKET_MS = 30_000

/** Right of a ticket: one listening of one user to one call, at the process that carries it. */
export interface ListenTicket extends NewMonitor {
  readonly mode: 'listen'
  readonly nodeId: string
  readonly sessionId: string
}

/** Makes a ticket. Nothing is stored before its use. */
export function issueTicket(
  rootKey: RootKey,
  call: Pick<CallRow, 'id' | 'nodeId'>,
  { organizationId, environment, userId, sessionId }: SessionActor,
  now: number,
): { readonly id: string; readonly token: string; readonly expiresAt: number } {
  const id = newId('mon', now)
  const expiresAt = now + TICKET_MS
  const fields = [id, call.id, call.nodeId, organizationId, environment, userId, sessionId]
  const subject = JSON.stringify(fields)
  return { id, token: writeAddressToken(rootKey, 'listen', { subject, expiresAt }), expiresAt }
}

/** Reads a ticket. Returns null for one that this service did not make, or that has expired. */
export function readTicket(rootKey: RootKey, token: string, now: number): ListenTicket | null {
  const grant = readAddressToken(rootKey, 'listen', token, now)
  if (grant === null) return null
  // The token is authentic, so it has the fields written above.
  const [id, callId, nodeId, organizationId, environment, userId, sessionId] = JSON.parse(grant.subject) as [
    string,
    string,
    string,
    string,
    'test' | 'live',
    string,
    string,
  ]
  return { id, callId, nodeId, organizationId, environment, userId, sessionId, mode: 'listen' }
}
