/*
 * The port to carriers that sell numbers. Each adapter speaks the API of one carrier. Nothing above it knows a
 * carrier's names, prices as text, or error codes.
 */

export type NumberType = 'landline' | 'mobile' | 'tollfree'
export type RenewalCycle = 'anniversary' | 'calendar_month'

/** A number that a carrier sells now. */
export interface Offer {
  readonly e164: string
  readonly provider: string
  /** Code of the telecom circle, or `IN` if the carrier does not say. */
  readonly region: string
  readonly numberType: NumberType
  readonly setupPaise: number
  /** Price of a month. */
  readonly rentalPaise: number
  readonly renewalCycle: RenewalCycle
}

export interface OfferFilters {
  readonly region: string | null
  readonly numberType: NumberType | null
  /** Digits that the number contains. */
  readonly contains: string | null
}

export interface CarrierRegion {
  readonly code: string
  readonly name: string
  readonly numberTypes: readonly NumberType[]
}

export type CarrierFailureCode =
  | 'number_unavailable'
  | 'provider_quota_exhausted'
  | 'provider_rejected'
  | 'compliance_incomplete'
  | 'provider_unavailable'

export interface CarrierFailure {
  readonly ok: false
  readonly code: CarrierFailureCode
  /** Short reason without secrets, for the API and the log. */
  readonly reason: string
  /** Time after which the carrier wants to be asked again (s). Null if it names none. */
  readonly retryAfterSeconds: number | null
  /** True if the request may have taken effect. */
  readonly unknown: boolean
  /** True if the carrier answers what cannot be read. Asking again may not help, so staff has to look. */
  readonly unreadable: boolean
}

export type CarrierResult<T> = { readonly ok: true; readonly value: T } | CarrierFailure

/** Identifiers of a purchase at the carrier. */
export interface Order {
  readonly e164: string
  /** Id of the number on our side, for carriers that store one. */
  readonly reference: string
}

/** A number in the account of the service. */
export interface OwnedNumber {
  readonly e164: string
  /** Id of the number at the carrier. Null if the carrier knows it by its digits. */
  readonly carrierNumberId: string | null
}

/** A leg that the service placed over a carrier. */
export interface CarriedLeg {
  readonly sipCallId: string
  /** E.164. */
  readonly from: string
  readonly to: string
  /** Unix ms. */
  readonly startedAt: number
}

/** Record of a leg that a carrier keeps. */
export interface CallRecord {
  /** False if the carrier denies the answer: its record has no time of answer, or bills nothing. */
  readonly answered: boolean
}

/** A request of a carrier to the service. */
export interface CallbackRequest {
  readonly url: string
  readonly header: (name: string) => string | undefined
  /** The bytes as they arrived. */
  readonly body: Buffer
}

/** Requests of a carrier. They are hints only: the service then asks the carrier. */
export interface CarrierCallbacks {
  /** Returns text that only a repetition of this request has again, or null if the carrier did not send it. */
  verify(request: CallbackRequest): { readonly key: string } | null
  /** Returns the Call-ID of the leg that the request is about, or null. */
  sipCallIdOf(body: Buffer): string | null
}

export interface Carrier {
  /** Identifier in the API, for example `vobiz`. */
  readonly provider: string
  readonly label: string
  readonly environment: 'test' | 'live'
  readonly regions: readonly CarrierRegion[]
  /** Returns up to 500 regular numbers for sale, in any order. */
  search(filters: OfferFilters, signal: AbortSignal): Promise<CarrierResult<readonly Offer[]>>
  /** Returns the offer of one number with its price of now, or null if it is not for sale. */
  quote(e164: string, signal: AbortSignal): Promise<CarrierResult<Offer | null>>
  /** Buys a number. Call it once for each order: no carrier recognises a repetition. */
  buy(order: Order, signal: AbortSignal): Promise<CarrierResult<OwnedNumber>>
  /** Looks an order up in the carrier's own list. `askedAt` is the time of `buy` (Unix ms). */
  findOwned(order: Order, askedAt: number, signal: AbortSignal): Promise<CarrierResult<OwnedNumber | null>>
  /** Returns all numbers of the account. A list that may be cut short, or has a row that cannot be read, is a failure. */
  listOwned(signal: AbortSignal): Promise<CarrierResult<readonly OwnedNumber[]>>
  /** Routes the calls of a number to the service, and reads the routing back. */
  route(number: OwnedNumber, signal: AbortSignal): Promise<CarrierResult<null>>
  /** Gives a number back. A number that is gone already counts as released. */
  release(number: OwnedNumber, signal: AbortSignal): Promise<CarrierResult<null>>
  /** Reads the record of a leg. Its value is null if there is none (yet). Null for a carrier without records of legs. */
  readonly callRecord:
    | ((leg: CarriedLeg, signal: AbortSignal) => Promise<CarrierResult<CallRecord | null>>)
    | null
  /** Null for a carrier that sends nothing. */
  readonly callbacks: CarrierCallbacks | null
  /** Reads the money of the service's own account (paise). Null for a carrier that does not tell it. */
  readonly balance: ((signal: AbortSignal) => Promise<CarrierResult<number>>) | null
}

export function ok<T>(value: T): CarrierResult<T> {
  return { ok: true, value }
}

export function failed(
  code: CarrierFailureCode,
  reason: string,
  more: Partial<Pick<CarrierFailure, 'retryAfterSeconds' | 'unknown' | 'unreadable'>> = {},
): CarrierFailure {
  return {
    ok: false,
    code,
    reason,
    retryAfterSeconds: more.retryAfterSeconds ?? null,
    unknown: more.unknown ?? false,
    unreadable: more.unreadable ?? false,
  }
}
