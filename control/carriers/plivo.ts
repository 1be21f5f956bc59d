import { basic, type HttpAnswer, memberOf, sendOnce, succeeded } from '../net/send-once.js'
import { readRecord } from './call-record.js'
import {
  type Carrier,
  type CarrierResult,
  failed,
  type Offer,
  type OfferFilters,
  type OwnedNumber,
  ok,
} from './carrier.js'
import { failureOf, paiseOf, timeOf, UNREADABLE_LIST } from './carrier-http.js'
import { CIRCLES, circleOf } from './circles.js'
import { fits, ownedNumber, regularNumber } from './offers.js'

/*
 * Plivo: phone numbers and SIP trunks ("Zentrunk"). https://www.plivo.com/docs. Numbers are digits without a plus. Prices are decimal text in the currency of
 * the account, which must be the rupee.
 */

export interface PlivoSettings {
  /** Base address, for example `https://api.plivo.com/v1`. */
  readonly url: string
  readonly authId: string
  readonly authToken: string
  /** Inbound trunk of the account that leads to this service. */
  readonly inboundTrunk: string
  /** Accepted compliance application. Null: Plivo links an accepted one by itself. */
  readonly complianceApplication: string | null
}

const PROVIDER = 'plivo'
/** The most that Plivo lists in one answer. */
const PAGE = 20
const MAX_PAGES = 10
/** Pages of the numbers of the account: 10,000 numbers. */
const MAX_OWNED_PAGES = 500
const DAY_MS = 86_400_000
/** Records of calls that began closer than this to ours are the same call (ms). */
const SAME_CALL_MS = 15_000

const TYPES = { landline: 'local', mobile: 'mobile', tollfree: 'tollfree' } as const
const TYPE_OF: Readonly<Record<string, Offer['numberType']>> = {
  fixed: 'landline',
  local: 'landline',
  mobile: 'mobile',
  tollfree: 'tollfree',
}

export function plivoCarrier(settings: PlivoSettings): Carrier {
  const account = `${settings.url}/Account/${encodeURIComponent(settings.authId)}`
  const headers = { authorization: basic(settings.authId, settings.authToken) }
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal, json?: unknown) =>
    sendOnce({
      method,
      url: `${account}${path}`,
      headers,
      signal,
      ...(json === undefined ? {} : { json }),
    })
  const numberPath = (e164: string) => `/Number/${e164.slice(1)}/`

  /** `pattern`: first digits after the country code. */
  async function inventory(
    pattern: string,
    numberType: OfferFilters['numberType'],
    signal: AbortSignal,
  ): Promise<CarrierResult<readonly Offer[]>> {
    const offers = new Map<string, Offer>()
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = new URLSearchParams({
        country_iso: 'IN',
        services: 'voice',
        limit: String(PAGE),
        offset: String(page * PAGE),
        ...(numberType === null ? {} : { type: TYPES[numberType] }),
        ...(pattern === '' ? {} : { pattern }),
      })
      const answer = await send('GET', `/PhoneNumber/?${query}`, signal)
      const items = memberOf(answer?.body, 'objects')
      if (answer?.status !== 200 || !Array.isArray(items)) return failureOf(answer, { purchase: false })
      for (const item of items) {
        const offer = offerOf(item)
        if (offer !== null) offers.set(offer.e164, offer)
      }
      if (items.length < PAGE) break
    }
    return ok([...offers.values()])
  }

  async function quote(e164: string, signal: AbortSignal): Promise<CarrierResult<Offer | null>> {
    const found = await inventory(e164.slice(3), null, signal)
    return found.ok ? ok(found.value.find((offer) => offer.e164 === e164) ?? null) : found
  }

  /** Reads a number of the account. Null if it is not there. */
  async function readOwned(e164: string, signal: AbortSignal): Promise<CarrierResult<unknown>> {
    const answer = await send('GET', numberPath(e164), signal)
    if (answer?.status === 404) return ok(null)
    if (answer?.status !== 200 || regularNumber(memberOf(answer.body, 'number')) !== e164) {
      return failureOf(answer, { purchase: false })
    }
    return ok(answer.body)
  }

  return {
    provider: PROVIDER,
    label: 'Plivo',
    environment: 'live',
    regions: Object.entries(CIRCLES).map(([code, name]) => ({
      code,
      name,
      numberTypes: ['landline', 'mobile', 'tollfree'],
    })),

    async search(filters, signal) {
      const found = await inventory(filters.contains ?? '', filters.numberType, signal)
      return found.ok ? ok(found.value.filter((offer) => fits(offer, filters))) : found
    },

    quote,

    async buy({ e164 }, signal) {
      const { complianceApplication } = settings
      const order = complianceApplication === null ? {} : { compliance_application_id: complianceApplication }
      const answer = await send('POST', `/PhoneNumber/${e164.slice(1)}/`, signal, order)
      if (!succeeded(answer)) {
        const refusal = refusedPurchase(answer)
        if (refusal.code !== 'provider_rejected') return refusal
        // A taken number has no error of its own.
        const left = await quote(e164, signal)
        return left.ok && left.value === null
          ? failed('number_unavailable', 'the number is not for sale any more')
          : refusal
      }
      const sold = memberOf(answer?.body, 'numbers')
      const named = Array.isArray(sold) && sold.some((row) => regularNumber(memberOf(row, 'number')) === e164)
      if (named && memberOf(answer?.body, 'status') === 'fulfilled')
        return ok({ e164, carrierNumberId: null })
      if (named && memberOf(answer?.body, 'status') === 'pending') {
        return failed('compliance_incomplete', 'the carrier waits for documents', { unknown: true })
      }
      return failed('provider_unavailable', 'an answer that cannot be read', { unknown: true })
    },

    async findOwned({ e164 }, askedAt, signal) {
      const found = await readOwned(e164, signal)
      if (!found.ok) return found
      if (found.value === null) return ok(null)
      // Plivo tells the day of the purchase only.
      const addedOn = timeOf(memberOf(found.value, 'added_on'))
      if (Number.isNaN(addedOn)) return failed('provider_unavailable', 'the number has no date of purchase')
      return ok(addedOn > askedAt - 2 * DAY_MS ? { e164, carrierNumberId: null } : null)
    },

    async listOwned(signal) {
      const owned: OwnedNumber[] = []
      for (let page = 0; page < MAX_OWNED_PAGES; page++) {
        const query = new URLSearchParams({ limit: String(PAGE), offset: String(page * PAGE) })
        const answer = await send('GET', `/Number/?${query}`, signal)
        const items = memberOf(answer?.body, 'objects')
        if (answer?.status !== 200 || !Array.isArray(items)) return failureOf(answer, { purchase: false })
        for (const item of items) {
          const e164 = ownedNumber(`+${digitsOf(memberOf(item, 'number'))}`)
          if (e164 === null) return UNREADABLE_LIST
          owned.push({ e164, carrierNumberId: null })
        }
        if (items.length < PAGE) return ok(owned)
      }
      return failed('provider_unavailable', 'the list of numbers is not complete')
    },

    async route({ e164 }, signal) {
      const answer = await send('POST', numberPath(e164), signal, { app_id: settings.inboundTrunk })
      if (!succeeded(answer)) return failureOf(answer, { purchase: false })
      const found = await readOwned(e164, signal)
      if (!found.ok) return found
      const application = String(memberOf(found.value, 'application') ?? '')
      return application.endsWith(`/Zentrunk/Trunk/${settings.inboundTrunk}/`)
        ? ok(null)
        : failed('provider_unavailable', 'the carrier routes the number elsewhere')
    },

    async release({ e164 }, signal) {
      const answer = await send('DELETE', numberPath(e164), signal)
      return succeeded(answer) || answer?.status === 404 ? ok(null) : failureOf(answer, { purchase: false })
    },

    /** Records name no SIP Call-ID: numbers and time tell which call it is. */
    async callRecord({ from, to, startedAt }, signal) {
      const query = new URLSearchParams({
        from_number: from.slice(1),
        to_number: to.slice(1),
        call_direction: 'outbound',
        end_time__gte: new Date(startedAt).toISOString().slice(0, 16).replace('T', ' '),
      })
      const answer = await send('GET', `/Zentrunk/Call/?${query}`, signal)
      const rows = memberOf(answer?.body, 'objects')
      if (answer?.status !== 200 || !Array.isArray(rows)) return failureOf(answer, { purchase: false })
      const same = rows.filter((row) => {
        const began = Date.parse(`${String(memberOf(row, 'initiation_time')).replace(' ', 'T')}Z`)
        return (
          Math.abs(began - startedAt) <= SAME_CALL_MS &&
          digitsOf(memberOf(row, 'from_number')) === from.slice(1) &&
          digitsOf(memberOf(row, 'to_number')) === to.slice(1)
        )
      })
      const [row, another] = same
      // Two calls that cannot be told apart prove nothing.
      if (row === undefined || another !== undefined) return ok(null)
      return readRecord(memberOf(row, 'answer_time'), memberOf(row, 'bill_duration'))
    },

    // Plivo sends nothing about calls of trunks.
    callbacks: null,
    balance: null,
  }
}

const digitsOf = (number: unknown): string => String(number ?? '').replace(/^\+/, '')

function refusedPurchase(answer: HttpAnswer | null) {
  const failure = failureOf(answer, { purchase: true })
  return failure.code === 'provider_rejected' && /complian|kyc|document/i.test(failure.reason)
    ? failed('compliance_incomplete', failure.reason)
    : failure
}

/** Returns the offer of a number in the inventory, or null if it cannot be sold to customers. */
function offerOf(item: unknown): Offer | null {
  const e164 = regularNumber(memberOf(item, 'number'))
  const numberType = TYPE_OF[String(memberOf(item, 'type'))]
  const setupPaise = paiseOf(memberOf(item, 'setup_rate'))
  const rentalPaise = paiseOf(memberOf(item, 'monthly_rental_rate'))
  const restricted = (memberOf(item, 'restriction') ?? null) !== null
  if (e164 === null || numberType === undefined || setupPaise === null || rentalPaise === null) return null
  if (restricted || memberOf(item, 'voice_enabled') !== true) return null
  return {
    e164,
    provider: PROVIDER,
    region: circleOf(memberOf(item, 'region')),
    numberType,
    setupPaise,
    rentalPaise,
    renewalCycle: 'anniversary',
  }
}
