import type { Db, Trx } from '../db/database.js'
import type { TransferDestinationRow } from '../db/tables/transfers.js'
import type { Owner } from './store.js'

const DAY_MS = 86_400_000
/** Lifetime of a code. */
export const CODE_LIFE_MS = 10 * 60_000
/** Wrong codes that are allowed. */
export const CODE_TRIES = 5

/**
 * Scopes of a verification call, with the number of calls that each allows in 24 hours. The number has a limit across
 * all organizations, too, which no organization reaches alone.
 */
function scopesOf({ id, e164, organizationId }: TransferDestinationRow) {
  return [
    { scope: `destination:${id}`, limit: 5 },
    { scope: `number:${organizationId}:${e164}`, limit: 5 },
    { scope: `number:${e164}`, limit: 20 },
    { scope: `organization:${organizationId}`, limit: 50 },
  ] as const
}

export interface VerificationCallBudget {
  /** Verification calls that are still allowed now. */
  readonly left: number
  /** Unix ms at which a call is allowed again; now while one is. */
  readonly nextAt: number
}

/** Returns how many verification calls of a destination are still allowed. */
export async function verificationCallBudget(
  db: Db | Trx,
  { environment }: Pick<Owner, 'environment'>,
  destination: TransferDestinationRow,
  now: number,
): Promise<VerificationCallBudget> {
  const scopes = scopesOf(destination)
  const rows = await db
    .selectFrom('verificationCallSlots')
    .select(['scope', (column) => column.fn.countAll<number>().as('taken')])
    .select((column) => column.fn.min('takenAt').as('oldest'))
    .where('environment', '=', environment)
    .where(
      'scope',
      'in',
      scopes.map(({ scope }) => scope),
    )
    .where('takenAt', '>', now - DAY_MS)
    .groupBy('scope')
    .execute()
  const used = scopes.map(({ scope, limit }) => {
    const row = rows.find((found) => found.scope === scope)
    const left = limit - Number(row?.taken ?? 0)
    return { left, nextAt: left > 0 ? now : Number(row?.oldest ?? now) + DAY_MS }
  })
  return {
    left: Math.max(0, Math.min(...used.map(({ left }) => left))),
    nextAt: Math.max(...used.map(({ nextAt }) => nextAt)),
  }
}

/**
 * Counts a verification call in every scope. Returns false when one of them has no call left; the caller then rolls the
 * transaction back.
 */
export async function takeVerificationCall(
  trx: Trx,
  { environment }: Pick<Owner, 'environment'>,
  destination: TransferDestinationRow,
  now: number,
): Promise<boolean> {
  for (const { scope, limit } of scopesOf(destination)) {
    if (!(await takeSlot(trx, { environment, scope, limit }, now))) return false
  }
  return true
}

/** Takes a slot of a scope: one that was never used, or was used more than 24 hours ago. */
async function takeSlot(
  trx: Trx,
  {
    environment,
    scope,
    limit,
  }: Pick<Owner, 'environment'> & { readonly scope: string; readonly limit: number },
  now: number,
): Promise<boolean> {
  for (let slot = 1; slot <= limit; slot++) {
    const taken = await trx
      .insertInto('verificationCallSlots')
      .values({ environment, scope, slot, takenAt: now })
      .onConflict((conflict) =>
        conflict
          .columns(['environment', 'scope', 'slot'])
          .doUpdateSet({ takenAt: now })
          .where('verificationCallSlots.takenAt', '<=', now - DAY_MS),
      )
      .returning('slot')
      .executeTakeFirst()
    if (taken !== undefined) return true
  }
  return false
}

/** Stores the code of a new call; an earlier code is void. */
export async function storeCode(
  trx: Trx,
  { environment }: Pick<Owner, 'environment'>,
  { id, organizationId, e164 }: TransferDestinationRow,
  codeHash: string,
  now: number,
): Promise<void> {
  const code = {
    e164,
    codeHash,
    codeExpiresAt: now + CODE_LIFE_MS,
    attemptsLeft: CODE_TRIES,
    lastCallAt: now,
  }
  await trx
    .insertInto('destinationVerifications')
    .values({ destinationId: id, environment, organizationId, verifiedAt: null, ...code })
    .onConflict((conflict) => conflict.columns(['destinationId', 'environment']).doUpdateSet(code))
    .execute()
}

export type Confirmation =
  | { readonly kind: 'verified' }
  | { readonly kind: 'wrong'; readonly attemptsLeft: number }
  /** No code waits. */
  | { readonly kind: 'none' }

/** Compares a code with the one that waits. A wrong one uses up a try; the last try voids the code. */
export async function confirmCode(
  trx: Trx,
  { environment }: Pick<Owner, 'environment'>,
  { id, organizationId, e164 }: TransferDestinationRow,
  codeHash: string,
  now: number,
): Promise<Confirmation> {
  const waiting = trx
    .updateTable('destinationVerifications')
    .where('destinationId', '=', id)
    .where('environment', '=', environment)
    .where('organizationId', '=', organizationId)
    .where('e164', '=', e164)
    .where('codeHash', 'is not', null)
  const verified = await waiting
    .set({ verifiedAt: now, codeHash: null, codeExpiresAt: null, attemptsLeft: 0 })
    .where('codeHash', '=', codeHash)
    .where('codeExpiresAt', '>', now)
    .returning('destinationId')
    .executeTakeFirst()
  if (verified !== undefined) return { kind: 'verified' }
  const wrong = await waiting
    .set((column) => ({ attemptsLeft: column('attemptsLeft', '-', 1) }))
    .where('codeExpiresAt', '>', now)
    .returning('attemptsLeft')
    .executeTakeFirst()
  if (wrong !== undefined) {
    if (wrong.attemptsLeft === 0) await waiting.set({ codeHash: null, codeExpiresAt: null }).execute()
    return { kind: 'wrong', attemptsLeft: wrong.attemptsLeft }
  }
  const expired = await trx
    .selectFrom('destinationVerifications')
    .select('destinationId')
    .where('destinationId', '=', id)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .where('codeHash', 'is not', null)
    .executeTakeFirst()
  return expired === undefined ? { kind: 'none' } : { kind: 'wrong', attemptsLeft: 0 }
}

/** Deletes slots that count no longer. */
export async function sweepVerificationCalls(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('verificationCallSlots')
    .where('takenAt', '<=', now - DAY_MS)
    .execute()
}
