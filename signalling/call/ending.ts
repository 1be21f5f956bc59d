import { EngineError, errorText } from '../../media/base/errors.js'

/** Why a call is over, as the contract's `endedReason` names it (an open set). */
export type Cause =
  | 'caller_hangup'
  | 'agent_hangup'
  | 'max_duration'
  | 'silence'
  | 'voicemail'
  | 'pool_full'
  | 'api_hangup'
  | 'carrier_error'
  | 'no_answer'
  | 'busy'
  | 'rejected'
  | 'bot_disconnected'
  | 'internal'

/** A verdict, not an error string: who ended the call, why, whose fault, and the SIP status if any. */
export interface Ending {
  readonly by: 'caller' | 'callee' | 'agent' | 'operator' | 'engine'
  readonly cause: Cause
  readonly fault: 'none' | 'customer' | 'carrier' | 'ours' | 'unclear'
  readonly sip?: number
  readonly note?: string
}

/** What the contract calls the result of a call. */
export type Disposition = 'answered' | 'failed' | 'no_answer' | 'busy' | 'voicemail' | 'unknown'

/** What an ending means outside signalling. */
export interface Outcome {
  readonly endedReason: Cause
  readonly disposition: Disposition
  /** Final answer to an INVITE that is still pending when the call ends so. */
  readonly sipAnswer: 404 | 480 | 486 | 487 | 500 | 503 | 603
}

interface Row {
  /** Nobody had answered. */
  readonly unanswered: Disposition
  /** Media was connected before. */
  readonly answered: Disposition
  readonly sipAnswer: Outcome['sipAnswer']
}

/** The one table Ending -> endedReason, disposition, SIP answer. */
const OUTCOMES: Readonly<Record<Cause, Row>> = {
  // Unanswered: the caller gave up while it rang (CANCEL).
  caller_hangup: { unanswered: 'no_answer', answered: 'answered', sipAnswer: 487 },
  agent_hangup: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  max_duration: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  silence: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  voicemail: { unanswered: 'voicemail', answered: 'voicemail', sipAnswer: 480 },
  pool_full: { unanswered: 'failed', answered: 'unknown', sipAnswer: 503 },
  api_hangup: { unanswered: 'no_answer', answered: 'answered', sipAnswer: 480 },
  // Answered: a person was there, the path to them broke.
  carrier_error: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  no_answer: { unanswered: 'no_answer', answered: 'no_answer', sipAnswer: 480 },
  busy: { unanswered: 'busy', answered: 'busy', sipAnswer: 486 },
  rejected: { unanswered: 'failed', answered: 'failed', sipAnswer: 603 },
  // The customer's bot could not be reached, or was lost.
  bot_disconnected: { unanswered: 'failed', answered: 'answered', sipAnswer: 480 },
  // Answered: somebody was there, but what came of the call is not known.
  internal: { unanswered: 'failed', answered: 'unknown', sipAnswer: 500 },
}

/** `answered`: media had been connected (the call's `answered` event was published). */
export function outcomeOf(ending: Ending, answered: boolean): Outcome {
  const row = OUTCOMES[ending.cause]
  return {
    endedReason: ending.cause,
    disposition: answered ? row.answered : row.unanswered,
    sipAnswer: row.sipAnswer,
  }
}

/** The verdict on a final non-2xx answer to an INVITE of ours. */
export function endingOfStatus(status: number): Ending {
  switch (status) {
    case 486:
    case 600:
      return { by: 'callee', cause: 'busy', fault: 'none', sip: status }
    case 408: // nobody answered within the transaction's time
    case 480:
    case 487: // withdrawn by somebody else than us: nobody took the call
      return { by: 'callee', cause: 'no_answer', fault: 'none', sip: status }
    case 603: // declined, RFC 3261
    case 607: // unwanted, RFC 8197
    case 608: // rejected by an analytics engine, RFC 8688
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

/** The verdict on anything thrown while a call was being made or held. Unknown things are ours. */
export function endingOfError(error: unknown): Ending {
  const note = errorText(error)
  if (!(error instanceof EngineError)) return { by: 'engine', cause: 'internal', fault: 'ours', note }
  switch (error.code) {
    case 'overloaded':
    case 'port_unavailable':
      return { by: 'engine', cause: 'pool_full', fault: 'ours', note }
    case 'sip_refused': {
      const status = error.context.status
      return typeof status === 'number'
        ? endingOfStatus(status)
        : { by: 'engine', cause: 'carrier_error', fault: 'carrier', note }
    }
    case 'sdp_invalid':
    case 'no_common_codec':
      return { by: 'engine', cause: 'carrier_error', fault: 'carrier', note }
    default:
      return { by: 'engine', cause: 'internal', fault: 'ours', note }
  }
}

/** The verdict on a conversation that says it is over; `note` is what became of a bot that was lost. */
export function endingOfConversation(
  why: 'agent_hangup' | 'max_duration' | 'silence' | 'voicemail' | 'provider_failure' | 'bot_disconnected',
  note?: string,
): Ending {
  if (why === 'provider_failure')
    return { by: 'engine', cause: 'internal', fault: 'ours', note: 'provider_failure' }
  if (why === 'bot_disconnected') {
    return { by: 'agent', cause: why, fault: 'customer', ...(note === undefined ? {} : { note }) }
  }
  return { by: 'agent', cause: why, fault: 'none' }
}

/**
 * The verdict on a dialog that the SIP server ended by itself; `reason` is the text of its BYE
 * (`ACK timeout`, `Session timer expired`).
 */
export function endingOfServerBye(reason: string): Ending {
  return { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: reason }
}
