import type { Trx } from '../db/database.js'
import { availablePaise, findEntry, lockWallet, post } from './ledger.js'

export interface RentalPeriod {
  readonly numberId: string
  readonly e164: string
  /** Start of the month that is paid (Unix ms). */
  readonly startsAt: number
  readonly amountPaise: number
}

/** Result of the payment of a month. `halted`: the wallet waits for its repair, and says nothing about the money. */
export type RentalOutcome = 'paid' | 'uncovered' | 'halted'

/**
 * Pays one month of a number if the available balance covers it and the wallet is not halted; otherwise it changes
 * nothing. A month is paid once: `paid` again if it was paid before.
 */
export async function payRental(
  trx: Trx,
  organizationId: string,
  period: RentalPeriod,
  now: number,
): Promise<RentalOutcome> {
  if (period.amountPaise === 0) return 'paid'
  const wallet = await lockWallet(trx, organizationId, now)
  if ((await findEntry(trx, organizationId, causeOf(period))) !== null) return 'paid'
  if (wallet.haltedAt !== null) return 'halted'
  if (availablePaise(wallet) < period.amountPaise) return 'uncovered'
  await postRental(trx, organizationId, period, now)
  return 'paid'
}

/** Posts one month of a number, whatever the wallet holds: the number is bought, and a hold covered the month. */
export async function postRental(
  trx: Trx,
  organizationId: string,
  period: RentalPeriod,
  now: number,
): Promise<void> {
  const { numberId, e164, amountPaise } = period
  if (amountPaise === 0) return
  await post(
    trx,
    organizationId,
    {
      type: 'number_rental',
      amountPaise: -amountPaise,
      cause: causeOf(period),
      description: `Rental of ${e164}`,
      reference: { type: 'number', id: numberId },
    },
    now,
  )
}

function causeOf({ numberId, startsAt }: RentalPeriod): string {
  return `number:${numberId}:rental:${startsAt}`
}
