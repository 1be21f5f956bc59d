import { EngineError, errorText } from '../../media/base/errors.js'
import type { CloseReason } from '../../media/session/endpoint.js'
import type { SessionEvent } from '../../workers/channel/protocol.js'
import { reasonOfStatus } from '../sip/reason.js'
import type { TrunkRefusal } from '../trunk/trunk-limiter.js'

/** Why a call ended: the values of the API field `endedReason` (an open set). */
export type Cause =
  | 'caller_hangup'
  | 'agent_hangup'
  | 'max_duration'
  | 'silence'
  | 'voicemail'
  | 'pool_full'
  | 'api_hangup'
  | 'transfer_completed'
  | 'carrier_error'
  | 'no_answer'
  | 'busy'
  | 'rejected'
  | 'bot_disconnected'
  /** The wallet did not cover the call when it began, or its next minute. */
  | 'insufficient_funds'
  | 'wallet_exhausted'
  /**
   * The compliance gate refused a call that a telephone system asked for. Or it no longer allowed the call when the
   * INVITE was to be sent, or to be repeated after a challenge. The telephone of the callee did not ring.
   */
  | 'gate_blocked'
  | 'internal'

/** The party that ended the call, the cause, the party at fault, and the SIP status if there is one. */
export interface Ending {
  readonly by: 'caller' | 'callee' | 'agent' | 'operator' | 'engine'
  readonly cause: Cause
  readonly fault: 'none' | 'customer' | 'carrier' | 'ours' | 'unclear'
  readonly sip?: number
  /** Reason header (RFC 3326) of the message that ended the leg, for the peer of the other leg. */
  readonly reason?: string
  /** Detail for people; never compared. */
  readonly note?: string
  /** Why the media session closes, where the cause does not say it. */
  readonly closeReason?: CloseReason
}

/** The ending of calls that are live when the service stops. */
export const SHUTDOWN: Ending = {
  by: 'engine',
  cause: 'internal',
  fault: 'ours',
  note: 'shutdown',
  closeReason: 'shutdown',
}

/** The ending of a call that is not answered in time. */
export const RING_OUT: Ending = { by: 'engine', cause: 'no_answer', fault: 'none', note: 'ring timeout' }

/** Returns the ending of a call that is ended from outside. */
export function endingOfHangUp(by: 'operator' | 'engine'): Ending {
  return by === 'operator'
    ? { by, cause: 'api_hangup', fault: 'none' }
    : { by, cause: 'internal', fault: 'ours', note: 'ended by the service' }
}

/** The ending of a call that the wallet does not cover any longer. */
export const WALLET_EXHAUSTED: Ending = {
  by: 'engine',
  cause: 'wallet_exhausted',
  fault: 'customer',
  note: 'the balance is used up',
}

/** The ending of a call whose organization staff has stopped. */
export const STOPPED_BY_STAFF: Ending = {
  by: 'operator',
  cause: 'api_hangup',
  fault: 'customer',
  note: 'the kill switch of the organization',
}

/** Returns why the media session of a call with this ending closes. */
export function closeReasonOf({ cause, closeReason }: Ending): CloseReason {
  if (closeReason !== undefined) return closeReason
  if (cause === 'internal') return 'error'
  return cause === 'api_hangup' ? 'api_hangup' : 'hangup'
}

/** The values of the API field `disposition`. */
export type Disposition = 'answered' | 'failed' | 'no_answer' | 'busy' | 'voicemail' | 'unknown'

/** The meaning of an ending outside of signalling. */
export interface Outcome {
  readonly endedReason: Cause
  readonly disposition: Disposition
  /** Final response to an INVITE that is still pending when the call ends; see `refusalOf`. */
  readonly sipAnswer: 404 | 480 | 486 | 487 | 500 | 503 | 603
}

interface Row {
  /** The disposition when the call was not answered. */
  readonly unanswered: Disposition
  /** The disposition when media had been connected. */
  readonly answered: Disposition
  readonly sipAnswer: Outcome['sipAnswer']
}

/** Maps the cause of an ending to disposition and SIP response. The only such table. */
const OUTCOMES: Readonly<Record<Cause, Row>> = {
  // Unanswered: the caller cancelled while it rang.
  caller_hangup: { unanswered: 'no_answer', answered: 'answered', sipAnswer: 487 },
  agent_hangup: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  max_duration: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  silence: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  voicemail: { unanswered: 'voicemail', answered: 'voicemail', sipAnswer: 480 },
  pool_full: { unanswered: 'failed', answered: 'unknown', sipAnswer: 503 },
  api_hangup: { unanswered: 'no_answer', answered: 'answered', sipAnswer: 480 },
  transfer_completed: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  // Answered: a person was there, but the connection broke.
  carrier_error: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  no_answer: { unanswered: 'no_answer', answered: 'no_answer', sipAnswer: 480 },
  busy: { unanswered: 'busy', answered: 'busy', sipAnswer: 486 },
  rejected: { unanswered: 'failed', answered: 'failed', sipAnswer: 603 },
  // The customer's bot could not be reached, or disconnected.
  bot_disconnected: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  insufficient_funds: { unanswered: 'failed', answered: 'unknown', sipAnswer: 486 },
  wallet_exhausted: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  gate_blocked: { unanswered: 'failed', answered: 'unknown', sipAnswer: 603 },
  // Answered: the call was up, but its result is unknown.
  internal: { unanswered: 'failed', answered: 'unknown', sipAnswer: 500 },
}

/** Returns the outcome. `answered`: the call's `answered` event was published. */
export function outcomeOf(ending: Ending, answered: boolean): Outcome {
  const row = OUTCOMES[ending.cause]
  return {
    endedReason: ending.cause,
    disposition: answered ? row.answered : row.unanswered,
    sipAnswer: row.sipAnswer,
  }
}

/**
 * Statuses about the called party or the network beyond it. All others concern our own request: its credentials, its
 * extensions or its route.
 */
const PASSED: ReadonlySet<number> = new Set([
  ...[402, 403, 404, 408, 410, 413, 429, 433, 480, 484, 485, 486, 488],
  ...[500, 501, 502, 503, 504, 580],
  ...[600, 603, 604, 606, 607, 608],
])

/**
 * Returns the final response to a caller whose call ends unanswered. A status of the leg that was dialled for the
 * caller passes, so that a telephone system can try another route. A status that concerns our own request becomes
 * 500. `reason` is the value of the Reason header, which names the status of that leg; null without one.
 */
export function refusalOf(ending: Ending): { readonly status: number; readonly reason: string | null } {
  const { sip, reason = null } = ending
  const { sipAnswer } = outcomeOf(ending, false)
  if (sip === undefined || sip < 300 || sip === sipAnswer) return { status: sipAnswer, reason }
  // A 487 without a CANCEL of ours means that the call was not picked up.
  const unanswered = sip === 487 ? sipAnswer : 500
  return { status: PASSED.has(sip) ? sip : unanswered, reason: reasonOfStatus(sip, reason) }
}

/** Returns the ending for a final non-2xx response to our INVITE. */
export function endingOfStatus(status: number, reason: string | null = null): Ending {
  const ending = endingByStatus(status)
  return reason === null ? ending : { ...ending, reason }
}

function endingByStatus(status: number): Ending {
  switch (status) {
    case 486:
    case 600:
      return { by: 'callee', cause: 'busy', fault: 'none', sip: status }
    case 408: // no answer within the transaction's time
    case 480:
    case 487: // not cancelled by us: the call was not picked up
      return { by: 'callee', cause: 'no_answer', fault: 'none', sip: status }
    case 603: // declined (RFC 3261)
    case 607: // unwanted (RFC 8197)
    case 608: // rejected by an analytics engine (RFC 8688)
      return { by: 'callee', cause: 'rejected', fault: 'none', sip: status }
    case 404: // no such number
    case 410:
    case 484:
    case 604:
      return { by: 'engine', cause: 'carrier_error', fault: 'customer', sip: status }
    default:
      return { by: 'engine', cause: 'carrier_error', fault: 'carrier', sip: status }
  }
}

/** Returns the ending for an error thrown while a call was made or held. Unknown errors count as ours. */
export function endingOfError(error: unknown): Ending {
  const note = errorText(error)
  if (!(error instanceof EngineError)) return { by: 'engine', cause: 'internal', fault: 'ours', note }
  switch (error.code) {
    case 'overloaded':
    case 'port_unavailable':
      return { by: 'engine', cause: 'pool_full', fault: 'ours', note }
    case 'sip_refused': {
      const { status, reason } = error.context
      return typeof status === 'number'
        ? endingOfStatus(status, typeof reason === 'string' ? reason : null)
        : { by: 'engine', cause: 'carrier_error', fault: 'carrier', note }
    }
    case 'permit_lapsed':
      return { by: 'engine', cause: 'gate_blocked', fault: 'none', note }
    case 'sdp_invalid':
    case 'no_common_codec':
      return { by: 'engine', cause: 'carrier_error', fault: 'carrier', note }
    default:
      return { by: 'engine', cause: 'internal', fault: 'ours', note }
  }
}

/** Returns the ending for a conversation that finished; `note` says why a bot's connection was lost. */
export function endingOfConversation(
  why: (SessionEvent & { readonly type: 'finished' })['why'],
  note?: string,
): Ending {
  if (why === 'asked') return { by: 'operator', cause: 'api_hangup', fault: 'none' }
  if (why === 'provider_failure')
    return { by: 'engine', cause: 'internal', fault: 'ours', note: 'provider_failure' }
  if (why === 'bot_disconnected') {
    return { by: 'agent', cause: why, fault: 'customer', ...(note === undefined ? {} : { note }) }
  }
  return { by: 'agent', cause: why, fault: 'none' }
}

/**
 * Returns the ending for a dialog that the SIP server ended; `reason` is the text of its BYE (`ACK timeout`,
 * `Session timer expired`).
 */
export function endingOfServerBye(reason: string): Ending {
  return { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: reason }
}

/** Returns the ending of a call that the limits of its trunk refused. */
export function endingOfTrunk(refusal: TrunkRefusal): Ending {
  const cause = refusal === 'trunk_prefix' ? 'rejected' : 'pool_full'
  return { by: 'engine', cause, fault: 'customer', note: refusal }
}
