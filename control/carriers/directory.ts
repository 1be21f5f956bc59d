import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import {
  type Carrier,
  type CarrierFailure,
  type CarrierResult,
  failed,
  type Offer,
  type OfferFilters,
} from './carrier.js'

/** A carrier that could not be asked, and why. */
export interface SearchWarning {
  readonly provider: string
  readonly failure: CarrierFailure
}

export interface FoundOffers {
  /** Cheapest first. */
  readonly offers: readonly Offer[]
  readonly warnings: readonly SearchWarning[]
}

/** The carriers of this installation. */
export interface Carriers {
  /** Returns the carriers of an environment, in a fixed order. */
  of(environment: 'test' | 'live'): readonly Carrier[]
  find(environment: 'test' | 'live', provider: string): Carrier | null
  /** Asks carriers side by side. The failure of one does not hide the offers of the others. */
  search(carriers: readonly Carrier[], filters: OfferFilters): Promise<FoundOffers>
  /** Runs a request to a carrier with a time limit (ms). A request that throws or takes longer failed. */
  ask<T>(
    carrier: Carrier,
    limitMs: number,
    request: (signal: AbortSignal) => Promise<CarrierResult<T>>,
  ): Promise<CarrierResult<T>>
}

/** Time limit of a search (ms). */
const SEARCH_MS = 5_000
/** Offers are kept for this time (ms), so that the pages of one search fit together. */
const KEPT_MS = 60_000
const MAX_KEPT = 200

/** Price of a purchase: set-up and the first month. */
export function totalPaise(offer: Pick<Offer, 'setupPaise' | 'rentalPaise'>): number {
  return offer.setupPaise + offer.rentalPaise
}

export function openCarriers(carriers: readonly Carrier[], clock: Clock, log: Log): Carriers {
  const kept = new Map<string, { readonly at: number; readonly offers: readonly Offer[] }>()

  async function ask<T>(
    carrier: Carrier,
    limitMs: number,
    request: (signal: AbortSignal) => Promise<CarrierResult<T>>,
  ): Promise<CarrierResult<T>> {
    const abort = new AbortController()
    const timer = clock.after(limitMs, () => abort.abort())
    const late = new Promise<CarrierFailure>((resolve) => {
      abort.signal.addEventListener('abort', () =>
        resolve(failed('provider_unavailable', 'no answer in time', { unknown: true })),
      )
    })
    try {
      return await Promise.race([request(abort.signal), late])
    } catch (error) {
      log.error({ provider: carrier.provider, error: String(error) }, 'carrier.request_failed')
      return failed('provider_unavailable', 'the request failed', { unknown: true })
    } finally {
      timer.cancel()
    }
  }

  async function offersOf(carrier: Carrier, filters: OfferFilters): Promise<CarrierResult<readonly Offer[]>> {
    const key = JSON.stringify([carrier.provider, filters.region, filters.numberType, filters.contains])
    const known = kept.get(key)
    if (known !== undefined && clock.now() - known.at < KEPT_MS) return { ok: true, value: known.offers }
    const found = await ask(carrier, SEARCH_MS, (signal) => carrier.search(filters, signal))
    if (!found.ok) return found
    kept.delete(key)
    kept.set(key, { at: clock.now(), offers: found.value })
    const oldest = kept.keys().next().value
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    return found
  }

  return {
    of: (environment) => carriers.filter((carrier) => carrier.environment === environment),
    find: (environment, provider) =>
      carriers.find((carrier) => carrier.environment === environment && carrier.provider === provider) ??
      null,
    ask,
    async search(asked, filters) {
      const results = await Promise.all(
        asked.map(async (carrier) => ({ carrier, result: await offersOf(carrier, filters) })),
      )
      return {
        offers: results.flatMap(({ result }) => (result.ok ? result.value : [])).toSorted(cheapestFirst),
        warnings: results.flatMap(({ carrier: { provider }, result }) =>
          result.ok ? [] : [{ provider, failure: result }],
        ),
      }
    },
  }
}

/** Compares by price, then by carrier and number, so that the order is always the same. */
export function cheapestFirst(a: Offer, b: Offer): number {
  const difference = totalPaise(a) - totalPaise(b)
  return difference === 0 ? textOrder(offerKey(a), offerKey(b)) : difference
}

/** Key of an offer among offers of the same price. */
export function offerKey({ provider, e164 }: Offer): string {
  return `${provider} ${e164}`
}

export const textOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
