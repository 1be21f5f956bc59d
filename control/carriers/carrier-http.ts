import { type HttpAnswer, memberOf } from '../net/send-once.js'
import { type CarrierFailure, failed } from './carrier.js'

const REASON_MAX = 200

/** The failure of a list with a row that cannot be read: the row may be the number that is looked for. */
export const UNREADABLE_LIST = failed('provider_unavailable', 'a list that cannot be read', {
  unreadable: true,
})

/**
 * Returns the failure of an answer that is not a success. `purchase` says that a missing answer or a server error
 * leaves open whether a number was bought.
 */
export function failureOf(
  answer: HttpAnswer | null,
  { purchase }: { readonly purchase: boolean },
): CarrierFailure {
  if (answer === null) return failed('provider_unavailable', 'no answer', { unknown: purchase })
  const { status, body, retryAfterSeconds } = answer
  const reason = reasonOf(body) ?? `HTTP ${status}`
  if (status === 429) {
    return failed(purchase ? 'provider_quota_exhausted' : 'provider_unavailable', reason, {
      retryAfterSeconds,
    })
  }
  if (status === 401 || status === 403 || status < 400 || status >= 500) {
    // Wrong credentials of the service are no mistake of the customer.
    return failed('provider_unavailable', status === 401 || status === 403 ? `HTTP ${status}` : reason, {
      unknown: purchase && status !== 401 && status !== 403,
    })
  }
  return failed('provider_rejected', reason)
}

function reasonOf(body: unknown): string | null {
  const error = memberOf(body, 'error')
  const rest = memberOf(memberOf(body, 'RestException'), 'Message')
  for (const text of [memberOf(body, 'message'), memberOf(error, 'message'), error, rest]) {
    if (typeof text === 'string' && text !== '') return text.replace(/\p{C}/gu, ' ').slice(0, REASON_MAX)
  }
  return null
}

/**
 * Converts a price in rupees, as decimal text or as a JSON number, to paise. Returns null for anything else, for
 * negative and for unreasonable prices.
 */
export function paiseOf(price: unknown): number | null {
  const text = typeof price === 'number' ? String(price) : price
  const match = typeof text === 'string' ? /^(\d{1,7})(?:\.(\d{1,10}))?$/.exec(text) : null
  if (match === null) return null
  const [, rupees = '0', fraction = ''] = match
  // A part of a paisa counts as a whole one.
  const rest = /[1-9]/.test(fraction.slice(2)) ? 1 : 0
  return Number(rupees) * 100 + Number(fraction.slice(0, 2).padEnd(2, '0')) + rest
}

/** Converts a date as text to Unix time (ms). Returns NaN for anything else. */
export function timeOf(text: unknown): number {
  return typeof text === 'string' ? Date.parse(text) : Number.NaN
}
