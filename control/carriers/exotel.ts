import { basic, type HttpRequest, memberOf, sendOnce, succeeded } from '../net/send-once.js'
import {
  type CallRecord,
  type Carrier,
  type CarrierFailure,
  type CarrierResult,
  failed,
  type NumberType,
  type Offer,
  ok,
} from './carrier.js'
import { failureOf, paiseOf, UNREADABLE_LIST } from './carrier-http.js'
import { CIRCLES } from './circles.js'
import { fits, ownedNumber, regularNumber } from './offers.js'

/*
 * Exotel: ExoPhones and SIP trunks ("vSIP"). https://developer.exotel.com/api-console/exophone. Inbound calls reach a trunk
 * through a flow of the account, which is made by hand once; outbound calls need the number on the trunk. The trunk API
 * answers some failures with HTTP 200: its envelope decides. Records of calls: https://developer.exotel.com/api/call-details-bulk.
 */

export interface ExotelSettings {
  /** Base address of the region of the account, for example `https://api.in.exotel.com`. */
  readonly url: string
  readonly accountSid: string
  readonly apiKey: string
  readonly apiToken: string
  /** Trunk of the account that leads to this service. */
  readonly trunk: string
  /** Id of the flow that connects inbound calls to the trunk. */
  readonly flow: string
}

const PROVIDER = 'exotel'
const TYPES: Readonly<Record<NumberType, string>> = {
  landline: 'Landline',
  mobile: 'Mobile',
  tollfree: 'TollFree',
}
/** Numbers of the account in one answer. Further pages are not documented. */
const LISTED = 50
const INCOMPLETE = failed('provider_unavailable', 'the list of numbers is not complete')
/** A number without the name of an order may be the one that was bought. */
const NAMELESS = failed('provider_unavailable', 'the number does not have the name of an order', {
  unreadable: true,
})
/** Names that orders gave: the ids of numbers. */
const ORDER_NAME = /^num_/
const UNPROVEN = failed('provider_unavailable', 'an answer that cannot be read')
/** The number is on the trunk already. */
const DUPLICATE = 1008
/** Records of calls that began closer than this to ours are the same call (ms). */
const SAME_CALL_MS = 15_000
/** Times in records have no zone: that of the account, India or UTC. */
const ZONES_MS = [0, 19_800_000]
/** The most records in one answer. */
const RECORDS = 100
/** Overall status of a call that has ended: whether it was answered. */
const ANSWERED: Readonly<Record<string, boolean>> = {
  completed: true,
  failed: false,
  busy: false,
  'no-answer': false,
}

export function exotelCarrier(settings: ExotelSettings): Carrier {
  const { url, accountSid, apiKey, apiToken, trunk, flow } = settings
  const sid = encodeURIComponent(accountSid)
  const numbers = `${url}/v2_beta/Accounts/${sid}`
  const headers = { authorization: basic(apiKey, apiToken) }
  const flowUrl = `http://my.exotel.com/${sid}/exoml/start_voice/${encodeURIComponent(flow)}`
  const send = (request: Omit<HttpRequest, 'headers'>) => sendOnce({ ...request, headers })

  async function inventory(
    numberType: NumberType,
    contains: string | null,
    region: string | null,
    signal: AbortSignal,
  ): Promise<CarrierResult<readonly Offer[]>> {
    const query = new URLSearchParams({
      ...(region === null ? {} : { InRegion: region }),
      ...(contains === null ? {} : { Contains: contains }),
    })
    const path = `/AvailablePhoneNumbers/IN/${TYPES[numberType]}`
    const answer = await send({ method: 'GET', url: `${numbers}${path}?${query}`, signal })
    if (answer?.status !== 200 || !Array.isArray(answer.body)) return failureOf(answer, { purchase: false })
    return ok(answer.body.flatMap((item: unknown) => offerOf(item, numberType) ?? []))
  }

  async function everyType(
    contains: string | null,
    region: string | null,
    signal: AbortSignal,
    types: readonly NumberType[],
  ): Promise<CarrierResult<readonly Offer[]>> {
    const found = await Promise.all(types.map((type) => inventory(type, contains, region, signal)))
    const failure = found.find((result): result is CarrierFailure => !result.ok)
    return failure ?? ok(found.flatMap((result) => (result.ok ? result.value : [])))
  }

  const quote = async (e164: string, signal: AbortSignal): Promise<CarrierResult<Offer | null>> => {
    const found = await everyType(e164.slice(3), null, signal, ['landline', 'mobile', 'tollfree'])
    return found.ok ? ok(found.value.find((offer) => offer.e164 === e164) ?? null) : found
  }

  /** Reads the first numbers of the account. */
  async function listed(signal: AbortSignal): Promise<CarrierResult<readonly ListedNumber[]>> {
    const answer = await send({ method: 'GET', url: `${numbers}/IncomingPhoneNumbers`, signal })
    const rows = memberOf(answer?.body, 'incoming_phone_numbers')
    if (answer?.status !== 200 || !Array.isArray(rows)) return failureOf(answer, { purchase: false })
    const read = rows.map(listedNumber).filter((row) => row !== null)
    return read.length === rows.length ? ok(read) : UNREADABLE_LIST
  }

  /** Puts a number on the trunk, so that calls may show it. */
  async function attach(e164: string, signal: AbortSignal): Promise<CarrierResult<null>> {
    const path = `/v2/accounts/${sid}/trunks/${encodeURIComponent(trunk)}/phone-numbers`
    const answer = await send({
      method: 'POST',
      url: `${url}${path}`,
      json: { phone_number: e164, mode: 'pstn' },
      signal,
    })
    const response = memberOf(answer?.body, 'response')
    const error = memberOf(response, 'error_data')
    if (memberOf(error, 'code') === DUPLICATE) return ok(null)
    if (succeeded(answer) && memberOf(response, 'status') === 'success') {
      const data = memberOf(response, 'data')
      return memberOf(data, 'phone_number') === e164 && memberOf(data, 'trunk_sid') === trunk
        ? ok(null)
        : UNPROVEN
    }
    if (!succeeded(answer)) return failureOf(answer, { purchase: false })
    const message = memberOf(error, 'message')
    return failed(
      'provider_rejected',
      typeof message === 'string' ? message.slice(0, 200) : 'the trunk refuses',
    )
  }

  return {
    provider: PROVIDER,
    label: 'Exotel',
    environment: 'live',
    regions: Object.entries(CIRCLES).map(([code, name]) => ({
      code,
      name,
      numberTypes: ['landline', 'mobile', 'tollfree'],
    })),

    async search(filters, signal) {
      const { contains, region, numberType } = filters
      const types = numberType === null ? (['landline', 'mobile', 'tollfree'] as const) : [numberType]
      const found = await everyType(contains, region, signal, types)
      return found.ok ? ok(found.value.filter((offer) => fits(offer, filters))) : found
    },

    quote,

    async buy({ e164, reference }, signal) {
      const form = { PhoneNumber: e164, FriendlyName: reference, VoiceUrl: flowUrl }
      const answer = await send({ method: 'POST', url: `${numbers}/IncomingPhoneNumbers`, form, signal })
      if (!succeeded(answer)) {
        const failure = failureOf(answer, { purchase: true })
        if (failure.code !== 'provider_rejected') return failure
        if (/kyc|document|verif/i.test(failure.reason)) return failed('compliance_incomplete', failure.reason)
        // The error of a taken number is not documented.
        const left = await quote(e164, signal)
        return left.ok && left.value === null
          ? failed('number_unavailable', 'the number is not for sale any more')
          : failure
      }
      const id = memberOf(answer?.body, 'sid')
      if (typeof id !== 'string' || id === '' || memberOf(answer?.body, 'phone_number') !== e164) {
        return failed('provider_unavailable', 'an answer that cannot be read', { unknown: true })
      }
      return ok({ e164, carrierNumberId: id })
    },

    async findOwned({ e164, reference }, _askedAt, signal) {
      const found = await listed(signal)
      if (!found.ok) return found
      const rows = found.value.filter((row) => row.e164 === e164)
      const bought = rows.find(({ name }) => name === reference)
      if (bought !== undefined) return ok({ e164, carrierNumberId: bought.carrierNumberId })
      if (!rows.every(({ name }) => name !== null && ORDER_NAME.test(name))) return NAMELESS
      // A list that may go on does not prove that a number is missing.
      return found.value.length < LISTED ? ok(null) : INCOMPLETE
    },

    async listOwned(signal) {
      const found = await listed(signal)
      if (!found.ok) return found
      if (found.value.length >= LISTED) return INCOMPLETE
      return ok(found.value.map(({ e164, carrierNumberId }) => ({ e164, carrierNumberId })))
    },

    async route({ e164, carrierNumberId }, signal) {
      const attached = await attach(e164, signal)
      if (!attached.ok) return attached
      const phone = `${numbers}/IncomingPhoneNumbers/${encodeURIComponent(carrierNumberId ?? '')}`
      const set = await send({ method: 'PUT', url: phone, form: { VoiceUrl: flowUrl }, signal })
      if (!succeeded(set)) return failureOf(set, { purchase: false })
      const read = await send({ method: 'GET', url: phone, signal })
      if (!succeeded(read)) return failureOf(read, { purchase: false })
      const voiceUrl = memberOf(read?.body, 'voice_url')
      if (memberOf(read?.body, 'phone_number') !== e164 || typeof voiceUrl !== 'string') return UNPROVEN
      // The carrier shows the address of a flow in several forms, each with its id at the end.
      return voiceUrl.split('/').at(-1) === flow
        ? ok(null)
        : failed('provider_unavailable', 'the carrier routes the number elsewhere')
    },

    async release({ carrierNumberId }, signal) {
      if (carrierNumberId === null)
        return failed('provider_unavailable', 'the carrier’s id of the number is unknown')
      const answer = await send({
        method: 'DELETE',
        url: `${numbers}/IncomingPhoneNumbers/${encodeURIComponent(carrierNumberId)}`,
        signal,
      })
      return succeeded(answer) || answer?.status === 404 ? ok(null) : failureOf(answer, { purchase: false })
    },

    /** Calls of trunks learn no id of Exotel: numbers and time tell which call it is. */
    async callRecord({ from, to, startedAt }, signal) {
      const [first = 0, last = 0] = ZONES_MS
      const begin = timeText(startedAt + first - SAME_CALL_MS)
      const end = timeText(startedAt + last + SAME_CALL_MS)
      const query = new URLSearchParams({
        DateCreated: `gte:${begin};lte:${end}`,
        To: to,
        PageSize: String(RECORDS),
      })
      const answer = await send({
        method: 'GET',
        url: `${url}/v1/Accounts/${sid}/Calls.json?${query}`,
        signal,
      })
      const rows = memberOf(answer?.body, 'Calls')
      if (answer?.status !== 200 || !Array.isArray(rows)) return failureOf(answer, { purchase: false })
      const same = rows.filter((row) => {
        const began = Date.parse(`${String(memberOf(row, 'DateCreated')).replace(' ', 'T')}Z`)
        const shown = [memberOf(row, 'From'), memberOf(row, 'PhoneNumberSid')].map(nationalOf)
        return (
          ZONES_MS.some((zone) => Math.abs(began - startedAt - zone) <= SAME_CALL_MS) &&
          nationalOf(memberOf(row, 'To')) === nationalOf(to) &&
          shown.includes(nationalOf(from))
        )
      })
      const [row, another] = same
      // Two calls that cannot be told apart prove nothing, as does a list that may go on.
      if (row === undefined || another !== undefined || rows.length >= RECORDS) return ok(null)
      return recordOf(row)
    },
    // Status callbacks are not signed.
    callbacks: null,
    balance: null,
  }
}

/** A number of the account. `name` is that of the order. Null if it has none. */
interface ListedNumber {
  readonly e164: string
  readonly carrierNumberId: string
  readonly name: string | null
}

/** Reads a row of the account's numbers. Returns null if it does not identify a number. */
function listedNumber(row: unknown): ListedNumber | null {
  const name = memberOf(row, 'friendly_name')
  const [e164, carrierNumberId] = [ownedNumber(memberOf(row, 'phone_number')), memberOf(row, 'sid')]
  if (e164 === null || typeof carrierNumberId !== 'string' || carrierNumberId === '') return null
  return name === null || typeof name === 'string' ? { e164, carrierNumberId, name } : null
}

/** Returns the national digits of a number that is written as +91 and ten digits, with a trunk zero, or alone. */
function nationalOf(number: unknown): string {
  return typeof number === 'string' ? number.replace(/^(?:\+?91|0)(?=\d{10}$)/, '') : ''
}

/** Returns `2026-10-01 06:00:00`. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}

/** Reads a record. Its value is null while the call goes on. */
function recordOf(row: unknown): CarrierResult<CallRecord | null> {
  const status = memberOf(row, 'Status')
  if (status === 'queued' || status === 'ringing' || status === 'in-progress') return ok(null)
  const answered =
    typeof status === 'string' && Object.hasOwn(ANSWERED, status) ? ANSWERED[status] : undefined
  return answered === undefined
    ? failed('provider_unavailable', 'a call record that cannot be read')
    : ok({ answered })
}

/** Returns the offer of an ExoPhone, or null if it cannot be sold to customers. No set-up fee is shown. */
function offerOf(item: unknown, numberType: NumberType): Offer | null {
  const e164 = regularNumber(memberOf(item, 'phone_number'))
  const rentalPaise = paiseOf(memberOf(item, 'rental_price'))
  const region = memberOf(item, 'region')
  if (e164 === null || rentalPaise === null || memberOf(memberOf(item, 'capabilities'), 'voice') !== true) {
    return null
  }
  return {
    e164,
    provider: PROVIDER,
    region: typeof region === 'string' && Object.hasOwn(CIRCLES, region) ? region : 'IN',
    numberType,
    setupPaise: 0,
    rentalPaise,
    renewalCycle: 'anniversary',
  }
}
