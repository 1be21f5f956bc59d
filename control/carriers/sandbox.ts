import type { Clock } from '../../media/base/clock.js'
import type { Db } from '../db/database.js'
import { type Carrier, failed, type Offer, type OfferFilters, ok } from './carrier.js'
import { CIRCLES } from './circles.js'
import {
  behaviourOf,
  FIRST,
  LAST,
  SANDBOX,
  sandboxIndex,
  sandboxNumber,
  sandboxOffer,
} from './sandbox-stock.js'

const MAX_OFFERS = 300
const DEARER_PERCENT = 10

/**
 * The simulated carrier of the test environment: a stock of numbers with prices, and failures that the last two
 * digits of a number choose. What it sold is stored apart from the numbers of the service, as with every carrier.
 */
export function sandboxCarrier(db: Db, clock: Pick<Clock, 'wall'>): Carrier {
  return {
    provider: SANDBOX,
    label: 'Sandbox',
    environment: 'test',
    regions: Object.entries(CIRCLES).map(([code, name]) => ({ code, name, numberTypes: ['mobile'] })),

    async search(filters) {
      const taken = await takenNumbers(db)
      const offers: Offer[] = []
      for (let index = FIRST; index <= LAST && offers.length < MAX_OFFERS; index++) {
        const offer = sandboxOffer(index)
        if (!taken.has(offer.e164) && fits(offer, filters)) offers.push(offer)
      }
      return ok(offers)
    },

    async quote(e164) {
      const index = sandboxIndex(e164)
      if (index === null || (await takenNumbers(db)).has(e164)) return ok(null)
      const offer = sandboxOffer(index)
      if (behaviourOf(index) !== 'dearer') return ok(offer)
      return ok({ ...offer, rentalPaise: offer.rentalPaise + (offer.rentalPaise * DEARER_PERCENT) / 100 })
    },

    async buy({ e164, reference }) {
      const index = sandboxIndex(e164)
      switch (index === null ? 'taken' : behaviourOf(index)) {
        case 'taken':
          return failed('number_unavailable', 'another customer bought the number')
        case 'lost':
          return failed('provider_unavailable', 'no answer', { unknown: true })
        case 'rejected':
          return failed('provider_rejected', 'the simulated carrier rejects this number')
        case 'quota':
          return failed('provider_quota_exhausted', 'the daily quota is used up', { retryAfterSeconds: 60 })
        case 'compliance':
          return failed('compliance_incomplete', 'documents are missing')
        case 'bought_without_answer':
          await sell(db, e164, reference, clock.wall())
          return failed('provider_unavailable', 'no answer', { unknown: true })
        default:
          await sell(db, e164, reference, clock.wall())
          return ok({ e164, carrierNumberId: null })
      }
    },

    async findOwned({ e164, reference }) {
      const row = await db
        .selectFrom('sandboxPurchases')
        .select('e164')
        .where('e164', '=', e164)
        .where('reference', '=', reference)
        .executeTakeFirst()
      return ok(row === undefined ? null : { e164, carrierNumberId: null })
    },

    async listOwned() {
      return ok([...(await takenNumbers(db))].map((e164) => ({ e164, carrierNumberId: null })))
    },

    async route() {
      return ok(null)
    },

    async release({ e164 }) {
      await db.deleteFrom('sandboxPurchases').where('e164', '=', e164).execute()
      return ok(null)
    },

    callRecord: null,
    callbacks: null,
    balance: null,
  }
}

function fits(offer: Offer, { region, numberType, contains }: OfferFilters): boolean {
  return (
    (region === null || offer.region === region) &&
    (numberType === null || offer.numberType === numberType) &&
    (contains === null || offer.e164.includes(contains))
  )
}

/** Every sandbox number that an organization has is taken, also those that were assigned without a purchase. */
async function takenNumbers(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('numbers')
    .select('e164')
    .where('e164', '>=', sandboxNumber(FIRST))
    .where('e164', '<=', sandboxNumber(LAST))
    .where('releasedAt', 'is', null)
    .execute()
  return new Set(rows.map(({ e164 }) => e164))
}

/** A number that came back from an earlier buyer is sold again. */
async function sell(db: Db, e164: string, reference: string, boughtAt: number): Promise<void> {
  await db
    .insertInto('sandboxPurchases')
    .values({ e164, reference, boughtAt })
    .onConflict((conflict) => conflict.column('e164').doUpdateSet({ reference, boughtAt }))
    .execute()
}
