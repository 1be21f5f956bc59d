import type { Trx } from '../db/database.js'
import { availablePaise, findEntry, lockWallet, post } from './ledger.js'

export interface RentalPeriod {
  readonly numberId: string
  readonly e164: string
  /** Start of the month that is paid (Unix ms). */
  readonly startsAt: number
  readonly amountPaise: number
}

/**
 * Pays one month of a number. Returns false, and changes nothing, when the available balance does not cover it or
 * the wallet is halted. A month is paid once: true again if it was paid before.
 */
export async function payRental(
  trx: Trx,
  organizationId: string,
  { numberId, e164, startsAt, amountPaise }: RentalPeriod,
  now: number,
): Promise<boolean> {
  if (amountPaise === 0) return true
  const wallet = await lockWallet(trx, organizationId, now)
  const cause = `number:${numberId}:rental:${startsAt}`
  if ((await findEntry(trx, organizationId, cause)) !== null) return true
  if (wallet.haltedAt !== null || availablePaise(wallet) < amountPaise) return false
  await post(
    trx,
    organizationId,
    {
      type: 'number_rental',
      amountPaise: -amountPaise,
      cause,
      description: `Rental of ${e164}`,
      reference: { type: 'number', id: numberId },
    },
    now,
  )
  return true
}
