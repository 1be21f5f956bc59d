import type { ServicePreset } from '../agent-spec.js'

/** Presets that another part of the service runs. */
export type ServiceKind = Exclude<ServicePreset, 'send_dtmf'>

export type ServiceRequest =
  | {
      readonly kind: 'transfer_call'
      /** One of the agent's destinations. Null means its default. */
      readonly destinationId: string | null
      readonly reason: string
      /** Said to the person before the call is connected. */
      readonly note: string
    }
  /** The other party wants no more calls. */
  | { readonly kind: 'opt_out'; readonly reason: string }
  | {
      readonly kind: 'schedule_callback'
      /** Unix ms. */
      readonly at: number
      readonly note: string
    }

/** Why a request was refused. */
export type ServiceRefusal =
  | 'destination_not_verified'
  | 'destination_disabled'
  | 'outside_hours'
  | 'destination_not_allowed'
  | 'attempts_exhausted'
  | 'transfer_in_progress'
  | 'not_supported'
  | 'insufficient_funds'
  | 'call_ending'
  /** Calls are not allowed at this time, or it is too far away. */
  | 'time_not_allowed'
  /** Other callers with this number were promised callbacks that are still to come. */
  | 'too_many_callbacks'

export type ServiceAnswer =
  | { readonly status: 'done' }
  | { readonly status: 'refused'; readonly refusal: ServiceRefusal }
  /** This installation does not support the preset. */
  | { readonly status: 'not_available' }
  /** An error occurred and nothing was done. */
  | { readonly status: 'failed' }

/** Runs the presets of live calls. */
export interface ServiceTools {
  /**
   * Runs a request. Its effects are permanent when the promise resolves. A rejection is reported to the model
   * as `failed`.
   */
  carryOut(callId: string, request: ServiceRequest): Promise<ServiceAnswer>
}

const MAX_TEXT = 500
const IST_OFFSET = '+05:30'
/** Names of the argument that carries the key of a transfer destination. */
export const DESTINATION_ARGUMENTS: readonly string[] = ['destinationId', 'destination_id', 'destination']

/** `2026-11-21T15:30`, with optional seconds. Without an offset it is Indian time. */
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2})?(?:\.\d{1,9})?\s{0,4}(Z|[+-]\d{2}:?\d{2})?$/

/**
 * Parses a model's arguments. Authors of agents name the parameters of a preset, so all usual names are
 * accepted. Returns a message for the model when the arguments are invalid.
 */
export function serviceRequest(
  kind: ServiceKind,
  given: Readonly<Record<string, unknown>>,
  now: number,
): ServiceRequest | string {
  const reason = textOf(given, ['reason', 'why'])
  const note = textOf(given, ['note', 'brief', 'summary', 'message', 'reason'])
  switch (kind) {
    case 'transfer_call': {
      const destinationId = textOf(given, DESTINATION_ARGUMENTS)
      return { kind, destinationId: destinationId === '' ? null : destinationId, reason, note }
    }
    case 'opt_out':
      return { kind, reason }
    case 'schedule_callback': {
      const values = Object.values(given)
      const only = values.length === 1 && typeof values[0] === 'string' ? values[0] : ''
      const at = timeOf(textOf(given, ['at', 'time', 'when', 'datetime', 'date_time']) || only)
      if (at === null) {
        return 'Failed: give the time of the callback as 2026-11-21T15:30, in Indian time. Nothing was scheduled.'
      }
      if (at <= now) return 'Failed: the time of the callback is over already. Nothing was scheduled.'
      return { kind, at, note }
    }
  }
}

/** Returns the result as the model receives it. The model can repeat it and must not promise more. */
export function toolResultText(kind: ServiceKind, answer: ServiceAnswer): string {
  switch (answer.status) {
    case 'done':
      return DONE[kind]
    case 'refused':
      return `Failed (${answer.refusal}): ${REFUSED[answer.refusal]} ${NOTHING[kind]}`
    case 'not_available':
      return NOT_AVAILABLE[kind]
    case 'failed':
      return `Failed: something went wrong on our side. ${NOTHING[kind]}`
  }
}

const DONE: Readonly<Record<ServiceKind, string>> = {
  transfer_call: 'The call is being handed over. Say one short sentence and nothing more.',
  opt_out: 'Recorded: this number is not called any more. Confirm that to the caller.',
  schedule_callback: 'Scheduled. Repeat the day and time to the caller.',
}

const NOTHING: Readonly<Record<ServiceKind, string>> = {
  transfer_call: 'The caller is still with you.',
  opt_out: 'Nothing was recorded.',
  schedule_callback: 'Nothing was scheduled.',
}

const NOT_AVAILABLE: Readonly<Record<ServiceKind, string>> = {
  transfer_call: 'Failed: calls cannot be transferred in this release. The caller is still with you.',
  opt_out: 'Failed: opt-outs cannot be recorded in this release. Nothing was recorded.',
  schedule_callback: 'Failed: callbacks cannot be scheduled in this release. Nothing was scheduled.',
}

const REFUSED: Readonly<Record<ServiceRefusal, string>> = {
  destination_not_verified: 'the telephone of that person is not verified.',
  destination_disabled: 'that person takes no calls at present.',
  outside_hours: 'nobody is available at this hour.',
  destination_not_allowed: 'this agent may not transfer to that person.',
  attempts_exhausted: 'this call was tried to be transferred as often as allowed.',
  transfer_in_progress: 'the call is being transferred already.',
  not_supported: 'this call cannot be transferred.',
  insufficient_funds: 'the balance does not suffice.',
  call_ending: 'the call is ending.',
  time_not_allowed: 'nobody may be called at that time.',
  too_many_callbacks: 'this number is called back several times already.',
}

/** Returns the first non-empty argument of these names, bounded in length. */
function textOf(given: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  for (const name of names) {
    const value = given[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, MAX_TEXT)
  }
  return ''
}

function timeOf(text: string): number | null {
  const found = TIME.exec(text.trim())
  if (!found) return null
  const [, day, minute, second = ':00', offset = IST_OFFSET] = found
  const at = Date.parse(`${day}T${minute}${second}${offset}`)
  // JavaScript reads 30 February as 2 March.
  const [month, date] = [Number(day?.slice(5, 7)), Number(day?.slice(8))]
  const real = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(at) || real.getUTCMonth() + 1 !== month || real.getUTCDate() !== date) return null
  return at
}
