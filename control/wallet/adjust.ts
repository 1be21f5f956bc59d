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
  const used = await refuseUsedReference(trx, organizationId, reference)
  if (used !== null) return used
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
      cause: causeOf(reference),
      description: `Adjustment ${reference}`,
      reference: { type: 'adjustment', id: reference },
    },
    now,
  )
}

/** Refuses a reference that the organization has used before. */
export async function refuseUsedReference(
  trx: Trx,
  organizationId: string,
  reference: string,
): Promise<Refusal<'conflict'> | null> {
  const earlier = await findEntry(trx, organizationId, causeOf(reference))
  if (earlier === null) return null
  return refuse('conflict', 'The reference was used before. Each adjustment needs its own.', {
    entryId: earlier.id,
    amountPaise: earlier.amountPaise,
  })
}

function causeOf(reference: string): string {
  return `adjustment:${reference}`
}
