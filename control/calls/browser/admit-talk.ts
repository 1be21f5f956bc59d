import type { Log } from '../../../media/base/log.js'
import type { AdmissionDecision, InboundInvite } from '../../../signalling/call/ports.js'
import type { BrowserSip, Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { isCallingBlocked } from '../../compliance/facts.js'
import { isUniqueViolation } from '../../db/constraint-error.js'
import { recordingPath } from '../lifecycle/settle.js'
import { storeInboundCall } from '../placement/inbound-call.js'
import { BROWSER_CALLER, prepareTalk, type TalkDeps } from './talk.js'
import { readTicket } from './ticket.js'

export interface TalkAdmission extends TalkDeps, Pick<Deps, 'rootKey' | 'nodeId' | 'policy'> {
  readonly log: Log
  /** Folder of recordings that are being written. */
  readonly folder: string
  readonly browserSip?: Pick<BrowserSip, 'userAt'> | null
}

/** Browsers have them all; Opus hears wideband. */
const CODECS = ['OPUS', 'PCMA', 'PCMU'] as const

/**
 * Decides on a call from the dashboard. As for other calls to an organization the gate is not run, but blocked calling,
 * the wallet and the pool of agent calls count.
 */
export async function admitTalk(
  options: TalkAdmission,
  { sourceAddress, sourcePort }: InboundInvite,
  token: string,
): Promise<AdmissionDecision> {
  const { db, clock, rootKey, folder, log, browserSip = null } = options
  const ticket = readTicket(rootKey, token, clock.wall())
  // A ticket is of no use to whoever copied it: it needs the connection of its user.
  if (ticket === null || browserSip?.userAt(sourceAddress, sourcePort) !== ticket.userId) {
    log.warn({ source: sourceAddress }, 'browser_call.ticket_refused')
    return refused('invalid_token', 'the ticket is wrong or has expired')
  }
  const { callId, userId, organizationId, variables } = ticket
  if (await isCallingBlocked(db, organizationId)) return refused('blocked_opt_out', 'calling is blocked')
  const talk = await prepareTalk(options, ticket)
  if (isRefusal(talk)) return refused(talk.code, talk.message)
  const { number, party } = talk
  const busy = await storeInboundCall(options, {
    ...{ callId, number, trunk: null, from: BROWSER_CALLER, to: number.e164, party, variables },
    metadata: { channel: 'browser', userId },
  }).catch((error: unknown) => {
    if (isUniqueViolation(error)) return 'used' as const
    throw error
  })
  if (busy === 'used') return refused('token_used', 'the ticket was used before')
  if (busy !== null) {
    const headers = { 'X-Svc-Code': busy.cause }
    return { admit: false, sip: 486, reason: busy.note, cause: busy.cause, callId, headers }
  }
  return {
    admit: true,
    callId,
    party: party.forCall(callId),
    codecs: CODECS,
    srtp: 'required',
    recordTo: number.recordCalls === 1 ? recordingPath(folder, callId) : null,
  }
}

function refused(code: string, reason: string): AdmissionDecision {
  return { admit: false, sip: 403, reason, headers: { 'X-Svc-Code': code } }
}
