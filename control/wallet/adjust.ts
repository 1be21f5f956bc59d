import { type Refusal, refuse } from '../api/problem.js'
import type { Trx } from '../db/database.js'
import type { LedgerEntryRow } from '../db/tables/wallet.js'
import { availablePaise, findEntry, lockWallet, post } from './ledger.js'

/** Largest adjustment of a balance in either direction: ten million rupees. */
export const MAX_ADJUSTMENT_PAISE = 1_000_000_000

/**
 * Adds to the balance or takes from it. Refuses a reference that the organization has used before, and an amount
 * that the available balance does not cover.
 */
export async function adjustBalance(
  trx: Trx,
  organizationId: string,
  { amountPaise, reference }: { readonly amountPaise: number; readonly reference: string },
  now: number,
): Promise<LedgerEntryRow | Refusal<'conflict'>> {
  const wallet = await lockWallet(trx, organizationId, now)
  const cause = `adjustment:${reference}`
  const earlier = await findEntry(trx, organizationId, cause)
  if (earlier !== null) {
    return refuse('conflict', 'The reference was used before. Each adjustment needs its own.', {
      entryId: earlier.id,
      amountPaise: earlier.amountPaise,
    })
  }
  const available = availablePaise(wallet)
  if (available + amountPaise < 0) {
    return refuse('conflict', 'The available balance does not cover the adjustment.', {
      availablePaise: available,
    })
  }
  return post(
    trx,
    organizationId,
    {
      type: 'adjustment',
      amountPaise,
      cause,
      description: `Adjustment ${reference}`,
      reference: { type: 'adjustment', id: reference },
    },
    now,
  )
}
