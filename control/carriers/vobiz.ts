import parsePhoneNumber from 'libphonenumber-js/max'
import {
  type Carrier,
  type CarrierResult,
  failed,
  type Offer,
  type OfferFilters,
  type OwnedNumber,
  ok,
} from './carrier.js'
import { failureOf, type HttpAnswer, memberOf, paiseOf, sendToCarrier } from './carrier-http.js'
import { CIRCLES, type Circle } from './circles.js'

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
}

const PROVIDER = 'vobiz'
const PAGE = 100
const MAX_PAGES = 5
/** Series that are not for agents: 140, 1600, 1601 and 92. */
const EXCLUDED = ['91140', '911600', '911601', '9192']
/** A purchase counts as ours if the carrier dates it after the request, give or take this difference of clocks (ms). */
const CLOCK_SLACK_MS = 5 * 60_000

/** Circles by the name of the state, as far as the names differ from those of the circles. */
const STATES: Readonly<Record<string, Circle>> = {
  'andhra pradesh': 'AP',
  telangana: 'AP',
  assam: 'AS',
  bihar: 'BR',
  jharkhand: 'BR',
  delhi: 'DL',
  'new delhi': 'DL',
  gujarat: 'GJ',
  'himachal pradesh': 'HP',
  haryana: 'HR',
  'jammu and kashmir': 'JK',
  karnataka: 'KA',
  kerala: 'KL',
  kolkata: 'KO',
  maharashtra: 'MH',
  goa: 'MH',
  'madhya pradesh': 'MP',
  chhattisgarh: 'MP',
  mumbai: 'MU',
  odisha: 'OR',
  punjab: 'PB',
  chandigarh: 'PB',
  rajasthan: 'RJ',
  'tamil nadu': 'TN',
  'west bengal': 'WB',
}

export function vobizCarrier(settings: VobizSettings): Carrier {
  const account = `${settings.url}/Account/${encodeURIComponent(settings.authId)}`
  const headers = { 'x-auth-id': settings.authId, 'x-auth-token': settings.authToken }
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, signal: AbortSignal, json?: unknown) =>
    sendToCarrier({
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
        exclude: EXCLUDED.join(),
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
    const found = items.find(
      (item) => memberOf(item, 'e164') === e164 && memberOf(item, 'status') === 'active',
    )
    return ok(found ?? null)
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
      // A success that names no number, or another one, leaves the outcome open.
      if (memberOf(memberOf(answer.body, 'number'), 'e164') !== e164) {
        return failed('provider_unavailable', 'an answer that cannot be read', { unknown: true })
      }
      return ok({ e164, carrierNumberId: null })
    },

    async findOwned({ e164 }, askedAt, signal) {
      const found = await readOwned(e164, signal)
      if (!found.ok) return found
      if (found.value === null) return ok(null)
      const boughtAt = Date.parse(String(memberOf(found.value, 'purchased_at') ?? ''))
      // A number without a readable date cannot be told from an older one of the account.
      if (Number.isNaN(boughtAt)) return failed('provider_unavailable', 'the number has no date of purchase')
      return ok(boughtAt >= askedAt - CLOCK_SLACK_MS ? { e164, carrierNumberId: null } : null)
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
  }
}

function refusedPurchase(answer: HttpAnswer | null): CarrierResult<OwnedNumber> {
  const failure = failureOf(answer, { purchase: true })
  return failure.code === 'provider_rejected' && /aadhaar|kyc|verif|document/i.test(failure.reason)
    ? failed('compliance_incomplete', failure.reason)
    : failure
}

/** Returns the offer of a number in the inventory, or null if it cannot be sold to customers. */
function offerOf(item: unknown): Offer | null {
  const e164 = memberOf(item, 'e164')
  if (typeof e164 !== 'string' || !/^\+91[1-9]\d{9}$/.test(e164)) return null
  if (EXCLUDED.some((prefix) => e164.startsWith(`+${prefix}`))) return null
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
  const type = parsePhoneNumber(e164)?.getType()
  return {
    e164,
    provider: PROVIDER,
    region: STATES[String(memberOf(item, 'region') ?? '').toLowerCase()] ?? 'IN',
    numberType: type === 'MOBILE' ? 'mobile' : 'landline',
    setupPaise,
    rentalPaise,
    renewalCycle: 'anniversary',
  }
}

function fits(offer: Offer, { region, numberType, contains }: OfferFilters): boolean {
  return (
    (region === null || offer.region === region) &&
    (numberType === null || offer.numberType === numberType) &&
    (contains === null || offer.e164.includes(contains))
  )
}
