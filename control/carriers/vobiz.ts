import { type HttpAnswer, memberOf, sendOnce } from '../net/send-once.js'
import { readRecord } from './call-record.js'
import { type Carrier, type CarrierResult, failed, type Offer, type OwnedNumber, ok } from './carrier.js'
import { failureOf, paiseOf, timeOf, UNREADABLE_LIST } from './carrier-http.js'
import { CIRCLES, circleOf } from './circles.js'
import { fits, IRREGULAR, numberTypeOf, ownedNumber, regularNumber } from './offers.js'
import { vobizCallbacks } from './vobiz-callbacks.js'

/*
 * Vobiz: numbers with prices in rupees, bought in one step. https://vobiz.ai/docs
 */

export interface VobizSettings {
  /** Base address, for example `https://api.vobiz.ai/api/v1`. */
  readonly url: string
  readonly authId: string
  readonly authToken: string
  /** Inbound trunk of the account that leads to this service. */
  readonly inboundTrunk: string
  /** Signs the webhooks of the account's trunks, and is `t` of their address. Null: callbacks are refused. */
  readonly webhookSecret: string | null
}

const PROVIDER = 'vobiz'
const PAGE = 100
const MAX_PAGES = 5
/** Pages of the numbers of the account: 10,000 numbers. */
const MAX_OWNED_PAGES = 100
/** States of a number that the account gave back. A number in any other state costs rent, or is about to. */
const GIVEN_BACK: readonly string[] = ['pending_release', 'released']
/** A purchase counts as ours if the carrier dates it after the request, give or take this difference of clocks (ms). */
const CLOCK_SLACK_MS = 5 * 60_000

const INCOMPLETE = failed('provider_unavailable', 'the list of numbers is not complete')
/** A purchase in progress may become a number of the account, and a blocked number is one. */
const UNDECIDED = failed('provider_unavailable', 'the number is neither active nor given back')

export function vobizCarrier(settings: VobizSettings): Carrier {
  const account = `${settings.url}/Account/${encodeURIComponent(settings.authId)}`
  const headers = { 'x-auth-id': settings.authId, 'x-auth-token': settings.authToken }
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal, json?: unknown) =>
    sendOnce({
      method,
      url: `${account}${path}`,
      headers,
      signal,
      ...(json === undefined ? {} : { json }),
    })

  async function inventory(search: string, signal: AbortSignal): Promise<CarrierResult<readonly Offer[]>> {
    const offers = new Map<string, Offer>()
    for (let page = 1; page <= MAX_PAGES; page++) {
      const query = new URLSearchParams({
        country: 'IN',
        exclude: IRREGULAR.join(),
        page: String(page),
        per_page: String(PAGE),
      })
      if (search !== '') query.set('search', search)
      const answer = await send('GET', `/inventory/numbers?${query}`, signal)
      const items = memberOf(answer?.body, 'items')
      if (answer?.status !== 200 || !Array.isArray(items)) return failureOf(answer, { purchase: false })
      for (const item of items) {
        const offer = offerOf(item)
        if (offer !== null) offers.set(offer.e164, offer)
      }
      if (items.length < PAGE) break
    }
    return ok([...offers.values()])
  }

  /** Reads a number of the account. Null if it is not there or given back. */
  async function readOwned(e164: string, signal: AbortSignal): Promise<CarrierResult<unknown>> {
    const query = new URLSearchParams({ search: e164.slice(1), per_page: String(PAGE) })
    const answer = await send('GET', `/numbers?${query}`, signal)
    const items = memberOf(answer?.body, 'items')
    if (answer?.status !== 200 || !Array.isArray(items)) return failureOf(answer, { purchase: false })
    if (!items.every(isNamed)) return UNREADABLE_LIST
    const rows = items.filter((item) => memberOf(item, 'e164') === e164)
    const found = rows.find((row) => memberOf(row, 'status') === 'active')
    if (found !== undefined) return ok(found)
    // A carrier that ignores the search lists the number on a later page, if it has it.
    if (rows.length === 0 && items.length >= PAGE) return INCOMPLETE
    return rows.every((row) => GIVEN_BACK.includes(String(memberOf(row, 'status')))) ? ok(null) : UNDECIDED
  }

  return {
    provider: PROVIDER,
    label: 'Vobiz',
    environment: 'live',
    regions: Object.entries(CIRCLES).map(([code, name]) => ({
      code,
      name,
      numberTypes: ['landline', 'mobile'],
    })),

    async search(filters, signal) {
      const found = await inventory(filters.contains ?? '', signal)
      return found.ok ? ok(found.value.filter((offer) => fits(offer, filters))) : found
    },

    async quote(e164, signal) {
      const found = await inventory(e164.slice(1), signal)
      return found.ok ? ok(found.value.find((offer) => offer.e164 === e164) ?? null) : found
    },

    async buy({ e164 }, signal) {
      const order = { e164, currency: 'INR' }
      const answer = await send('POST', '/numbers/purchase-from-inventory', signal, order)
      if (answer?.status === 404)
        return failed('number_unavailable', 'the number is not in the inventory any more')
      if (answer === null || answer.status >= 300 || answer.status < 200) return refusedPurchase(answer)
      const sold = memberOf(answer.body, 'number')
      // A success that names no number, another one, or one that is not active yet leaves the outcome open.
      if (memberOf(sold, 'e164') !== e164 || memberOf(sold, 'status') !== 'active') {
        return failed('provider_unavailable', 'an answer that cannot be read', { unknown: true })
      }
      return ok({ e164, carrierNumberId: null })
    },

    async findOwned({ e164 }, askedAt, signal) {
      const found = await readOwned(e164, signal)
      if (!found.ok) return found
      if (found.value === null) return ok(null)
      const boughtAt = timeOf(memberOf(found.value, 'purchased_at'))
      // A number without a readable date cannot be told from an older one of the account.
      if (Number.isNaN(boughtAt)) return failed('provider_unavailable', 'the number has no date of purchase')
      return ok(boughtAt >= askedAt - CLOCK_SLACK_MS ? { e164, carrierNumberId: null } : null)
    },

    async listOwned(signal) {
      const owned: OwnedNumber[] = []
      for (let page = 1; page <= MAX_OWNED_PAGES; page++) {
        const query = new URLSearchParams({ page: String(page), per_page: String(PAGE) })
        const answer = await send('GET', `/numbers?${query}`, signal)
        const items = memberOf(answer?.body, 'items')
        if (answer?.status !== 200 || !Array.isArray(items)) return failureOf(answer, { purchase: false })
        if (!items.every(isNamed)) return UNREADABLE_LIST
        for (const item of items) {
          const e164 = memberOf(item, 'e164')
          const givenBack = GIVEN_BACK.includes(String(memberOf(item, 'status')))
          if (!givenBack && typeof e164 === 'string') owned.push({ e164, carrierNumberId: null })
        }
        if (items.length < PAGE) return ok(owned)
      }
      return INCOMPLETE
    },

    async route({ e164 }, signal) {
      const path = `/numbers/${encodeURIComponent(e164)}/assign`
      const answer = await send('POST', path, signal, { trunk_group_id: settings.inboundTrunk })
      if (answer === null || answer.status >= 300) return failureOf(answer, { purchase: false })
      const found = await readOwned(e164, signal)
      if (!found.ok) return found
      return memberOf(found.value, 'trunk_group_id') === settings.inboundTrunk
        ? ok(null)
        : failed('provider_unavailable', 'the carrier routes the number elsewhere')
    },

    async release({ e164 }: OwnedNumber, signal) {
      const answer = await send('DELETE', `/numbers/${encodeURIComponent(e164)}`, signal)
      if (answer !== null && (answer.status === 404 || (answer.status >= 200 && answer.status < 300)))
        return ok(null)
      return failureOf(answer, { purchase: false })
    },

    async callRecord({ sipCallId }, signal) {
      const answer = await send('GET', `/cdr?${new URLSearchParams({ sip_call_id: sipCallId })}`, signal)
      const rows = memberOf(answer?.body, 'data')
      if (answer?.status !== 200 || !Array.isArray(rows)) return failureOf(answer, { purchase: false })
      const row: unknown = rows.find((each) => memberOf(each, 'sip_call_id') === sipCallId)
      return row === undefined ? ok(null) : readRecord(memberOf(row, 'answer_time'), memberOf(row, 'billsec'))
    },

    callbacks: settings.webhookSecret === null ? null : vobizCallbacks(settings.webhookSecret),

    async balance(signal) {
      const answer = await send('GET', '/balance/INR', signal)
      const paise = paiseOf(memberOf(answer?.body, 'available_balance'))
      return answer?.status === 200 && paise !== null ? ok(paise) : failureOf(answer, { purchase: false })
    },
  }
}

/** Returns whether a row of the account's numbers has what identifies a number. */
function isNamed(item: unknown): boolean {
  return ownedNumber(memberOf(item, 'e164')) !== null && typeof memberOf(item, 'status') === 'string'
}

function refusedPurchase(answer: HttpAnswer | null): CarrierResult<OwnedNumber> {
  const failure = failureOf(answer, { purchase: true })
  return failure.code === 'provider_rejected' && /aadhaar|kyc|verif|document/i.test(failure.reason)
    ? failed('compliance_incomplete', failure.reason)
    : failure
}

/** Returns the offer of a number in the inventory, or null if it cannot be sold to customers. */
function offerOf(item: unknown): Offer | null {
  const e164 = regularNumber(memberOf(item, 'e164'))
  if (e164 === null) return null
  const unsold = memberOf(item, 'status') !== 'active' || memberOf(item, 'voice_enabled') === false
  const bound = ['is_blocked', 'is_trial_number', 'aadhaar_verification_required'].some(
    (name) => memberOf(item, name) === true,
  )
  const commitment = memberOf(item, 'minimum_commitment_months') ?? 0
  const [setupPaise, rentalPaise] = [
    paiseOf(memberOf(item, 'setup_fee')),
    paiseOf(memberOf(item, 'monthly_fee')),
  ]
  if (unsold || bound || commitment !== 0 || memberOf(item, 'currency') !== 'INR') return null
  if (setupPaise === null || rentalPaise === null) return null
  return {
    e164,
    provider: PROVIDER,
    region: circleOf(memberOf(item, 'region')),
    numberType: numberTypeOf(e164),
    setupPaise,
    rentalPaise,
    renewalCycle: 'anniversary',
  }
}
