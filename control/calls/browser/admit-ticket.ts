import type { Log } from '../../../media/base/log.js'
import type { CodecName } from '../../../media/codec/codec.js'
import type { AdmissionDecision, InboundInvite } from '../../../signalling/call/ports.js'
import { roleInSession } from '../../access/sessions/sessions.js'
import type { BrowserSip, Deps, TransferRequests } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { isCallingBlocked } from '../../compliance/facts.js'
import { isUniqueViolation } from '../../db/constraint-error.js'
import { mayMonitor, readMonitoring } from '../../organization/monitoring.js'
import { recordingPath } from '../lifecycle/settle.js'
import { beginListening } from '../monitors/store.js'
import { storeInboundCall } from '../placement/inbound-call.js'
import { BROWSER_CALLER, prepareTalk, type TalkDeps } from './talk.js'
import { type MonitorTicket, readTicket, type TalkTicket } from './ticket.js'

export interface TicketAdmission extends TalkDeps, Pick<Deps, 'rootKey' | 'nodeId' | 'policy'> {
  readonly log: Log
  /** Folder of recordings that are being written. */
  readonly folder: string
  readonly browserSip?: Pick<BrowserSip, 'userAt'> | null
  /** Without it no call is taken over. */
  readonly takeovers?: Pick<TransferRequests, 'join'>
}

/** Every browser supports them. Opus comes first because it carries wideband audio. */
const CODECS: readonly CodecName[] = ['OPUS', 'PCMA', 'PCMU']

/** Decides on an INVITE with a ticket. A copied ticket is of no use: it needs the connection of its user. */
export async function admitTicket(
  options: TicketAdmission,
  { sourceAddress, sourcePort, to }: InboundInvite,
  token: string,
): Promise<AdmissionDecision> {
  const { clock, rootKey, log, browserSip = null } = options
  const ticket = readTicket(rootKey, token, clock.wall())
  if (ticket === null || browserSip?.userAt(sourceAddress, sourcePort) !== ticket.userId) {
    log.warn({ source: sourceAddress }, 'browser_call.ticket_refused')
    return refused('invalid_token', 'the ticket is wrong or has expired')
  }
  if (to !== (ticket.purpose === 'talk' ? ticket.agentId : ticket.callId))
    return refused('wrong_target', 'the ticket is for somebody else')
  return ticket.purpose === 'talk' ? admitTalk(options, ticket) : admitMonitor(options, ticket)
}

/**
 * Decides on a call with an agent. As for other calls to an organization the gate is not run, but blocked calling, the
 * wallet and the pool of agent calls count.
 */
async function admitTalk(options: TicketAdmission, ticket: TalkTicket): Promise<AdmissionDecision> {
  const { db, folder } = options
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
  if (busy === 'used') return refused('token_used', USED)
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

/** Decides on a leg that listens to a running call, or takes it over. */
async function admitMonitor(options: TicketAdmission, ticket: MonitorTicket): Promise<AdmissionDecision> {
  const { db, clock, nodeId, takeovers } = options
  const { purpose, id, callId, organizationId, environment, userId } = ticket
  // The ticket stays good: the page connects again and reaches another process.
  if (ticket.nodeId !== nodeId) return refused('other_process', 'another process carries the call')
  const isAllowed = async () => {
    const role = await roleInSession(db, ticket, clock.wall())
    const wanted = purpose === 'listen' ? 'listen' : 'listen_and_takeover'
    return (
      role !== null && mayMonitor(await readMonitoring(db, organizationId), { role, environment }, wanted)
    )
  }
  if (!(await isAllowed())) return refused('forbidden', 'the user may not do this any more')
  const joined = { admit: 'joins', callId, codecs: CODECS, srtp: 'required' } as const
  if (purpose === 'takeover') {
    const answer = await takeovers?.join(callId, { id, userId })
    if (answer?.accepted === true) return { ...joined, joins: { kind: 'takeover', plan: answer.plan } }
    const refusal = answer?.refusal ?? 'not_supported'
    return refused(refusal, refusal === 'token_used' ? USED : 'the call cannot be taken over')
  }
  const monitor = { id, organizationId, environment, callId, userId, mode: 'listen' } as const
  const begun = await beginListening(db, monitor, clock.wall())
  if (begun === 'ended') return refused('call_ending', 'the call has ended')
  if (begun === 'used') return refused('token_used', USED)
  if (begun === 'full') return refused('too_many_listeners', 'others listen to the call already')
  return { ...joined, joins: { kind: 'listen', id, by: userId, mayListen: isAllowed } }
}

const USED = 'the ticket was used before'

function refused(code: string, reason: string): AdmissionDecision {
  return { admit: false, sip: 403, reason, headers: { 'X-Svc-Code': code } }
}
