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
  | 'internal'

/** A verdict, not an error string: who ended the call, why, whose fault, and the SIP status if any. */
export interface Ending {
  readonly by: 'caller' | 'callee' | 'agent' | 'operator' | 'engine'
  readonly cause: Cause
  readonly fault: 'none' | 'customer' | 'carrier' | 'ours' | 'unclear'
  readonly sip?: number
  readonly note?: string
}
