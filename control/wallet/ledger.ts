import { EngineError } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { LedgerEntryRow, WalletHoldRow, WalletRow } from '../db/tables/wallet.js'
import { insertEvent } from '../events/store.js'

/*
 * The wallet of an organization: an append-only ledger, and holds on money that is not billed yet. Each function
 * runs in the transaction of what it pays for, and locks the wallet's row. It therefore happens with its
 * cause or not at all, and concurrent changes of one wallet wait for each other.
 */

/** Balance below which `wallet.balance.low` is sent, unless the organization set another one (paise). */
export const DEFAULT_THRESHOLD_PAISE = 50_000

export type EntryType =
  | 'topup'
  | 'topup_refund'
  | 'call'
  | 'number_setup'
  | 'number_rental'
  | 'compliance_check'
  | 'adjustment'

export const CATEGORIES = ['calls', 'numbers', 'compliance', 'adjustments'] as const
type Category = (typeof CATEGORIES)[number]

const CATEGORY_OF: Readonly<Record<EntryType, Category | null>> = {
  topup: null,
  topup_refund: null,
  call: 'calls',
  number_setup: 'numbers',
  number_rental: 'numbers',
  compliance_check: 'compliance',
  adjustment: 'adjustments',
}

/** Subject for which money is held or moved. */
export interface Reference {
  readonly type: string
  readonly id: string
}

export interface Posting {
  readonly type: EntryType
  /** Positive adds to the balance, negative takes from it. */
  readonly amountPaise: number
  /** Names what the money moves for. The same cause never moves money twice. */
  readonly cause: string
  readonly description: string
  readonly reference: Reference
  readonly agentId?: string | null
}

/** Locks the wallet of an organization until the end of the transaction. Makes it if there is none. */
export function lockWallet(trx: Trx, organizationId: string, now: number): Promise<WalletRow> {
  return trx
    .insertInto('wallets')
    .values(emptyWallet(organizationId, now))
    .onConflict((conflict) => conflict.column('organizationId').doUpdateSet({ updatedAt: now }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns the wallet of an organization that never had money. */
export function emptyWallet(organizationId: string, now: number): WalletRow {
  return {
    organizationId,
    balancePaise: 0,
    heldPaise: 0,
    thresholdPaise: DEFAULT_THRESHOLD_PAISE,
    // An empty wallet has not crossed the threshold.
    low: 1,
    onHold: 0,
    holdReason: null,
    disputeHold: null,
    entries: 0,
    haltedAt: null,
    checkedAt: now,
    updatedAt: now,
  }
}

/** Appends an entry. Returns the entry, or the one that was made before for the same cause. */
export function post(
  trx: Trx,
  organizationId: string,
  posting: Posting,
  now: number,
): Promise<LedgerEntryRow> {
  const { reference, agentId = null, ...rest } = posting
  return append(
    trx,
    organizationId,
    {
      ...rest,
      category: CATEGORY_OF[posting.type],
      referenceType: reference.type,
      referenceId: reference.id,
      agentId,
      reversesEntryId: null,
      countsAt: now,
    },
    now,
  )
}

/** Appends the reversal of an entry, or of the part (in its sign) that is given. An entry is reversed once. */
export function reverse(
  trx: Trx,
  entry: LedgerEntryRow,
  description: string,
  now: number,
  partPaise = entry.amountPaise,
): Promise<LedgerEntryRow> {
  const { organizationId, category, referenceType, referenceId, agentId, countsAt } = entry
  return append(
    trx,
    organizationId,
    {
      type: 'reversal',
      category,
      amountPaise: -partPaise,
      description,
      referenceType,
      referenceId,
      agentId,
      reversesEntryId: entry.id,
      cause: `reversal:${entry.id}`,
      countsAt,
    },
    now,
  )
}

/** Returns the entry that was made for a cause, or null. */
export async function findEntry(
  trx: Trx,
  organizationId: string,
  cause: string,
): Promise<LedgerEntryRow | null> {
  const row = await trx
    .selectFrom('ledgerEntries')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('cause', '=', cause)
    .executeTakeFirst()
  return row ?? null
}

/** Names the tax document of an entry, once. */
export async function linkInvoice(trx: Trx, entry: LedgerEntryRow, invoiceId: string): Promise<void> {
  await trx
    .updateTable('ledgerEntries')
    .set({ invoiceId })
    .where('organizationId', '=', entry.organizationId)
    .where('id', '=', entry.id)
    .where('invoiceId', 'is', null)
    .execute()
}

type NewEntry = Omit<
  LedgerEntryRow,
  'id' | 'organizationId' | 'seq' | 'balanceAfterPaise' | 'invoiceId' | 'createdAt'
>

async function append(
  trx: Trx,
  organizationId: string,
  entry: NewEntry,
  now: number,
): Promise<LedgerEntryRow> {
  if (!Number.isSafeInteger(entry.amountPaise)) {
    throw new EngineError('internal', 'an amount of money is not a whole number of paise')
  }
  const before = await lockWallet(trx, organizationId, now)
  const earlier = await findEntry(trx, organizationId, entry.cause)
  if (earlier !== null) return earlier
  const balancePaise = before.balancePaise + entry.amountPaise
  const seq = before.entries + 1
  await change(trx, before, { balancePaise, entries: seq }, now)
  const made: LedgerEntryRow = {
    ...entry,
    id: newId('led', now),
    organizationId,
    seq,
    balanceAfterPaise: balancePaise,
    invoiceId: null,
    createdAt: now,
  }
  await trx.insertInto('ledgerEntries').values(made).execute()
  return made
}

/** Sets the threshold of `wallet.balance.low`. Returns the wallet before and after. */
export async function setThreshold(
  trx: Trx,
  organizationId: string,
  thresholdPaise: number,
  now: number,
): Promise<{ readonly before: WalletRow; readonly after: WalletRow }> {
  const before = await lockWallet(trx, organizationId, now)
  return { before, after: await change(trx, before, { thresholdPaise }, now) }
}

/**
 * Freezes a wallet in the name of staff, or ends that (`reason` null). A frozen wallet takes no new hold, so that no call is
 * placed; calls in progress continue while the balance covers them. The hold of a dispute is another one: the wallet is
 * free when it has neither. Returns the wallet before and after.
 */
export function freeze(
  trx: Trx,
  organizationId: string,
  reason: string | null,
  now: number,
): Promise<Frozen> {
  return setHolds(trx, organizationId, { holdReason: reason }, now)
}

/** Freezes a wallet in the name of its disputes, or ends that (null). Returns the wallet before and after. */
export function freezeForDispute(
  trx: Trx,
  organizationId: string,
  disputeHold: WalletRow['disputeHold'],
  now: number,
): Promise<Frozen> {
  return setHolds(trx, organizationId, { disputeHold }, now)
}

interface Frozen {
  readonly before: WalletRow
  readonly after: WalletRow
}

async function setHolds(
  trx: Trx,
  organizationId: string,
  set: Partial<Pick<WalletRow, 'holdReason' | 'disputeHold'>>,
  now: number,
): Promise<Frozen> {
  const before = await lockWallet(trx, organizationId, now)
  const { holdReason, disputeHold } = { ...before, ...set }
  const onHold = holdReason === null && disputeHold === null ? 0 : 1
  return { before, after: await change(trx, before, { ...set, onHold }, now) }
}

/** Changes a locked wallet, and reports a crossing below the threshold once. */
async function change(
  trx: Trx,
  before: WalletRow,
  values: Partial<WalletRow>,
  now: number,
): Promise<WalletRow> {
  const { organizationId } = before
  const next = { ...before, ...values }
  const low = next.balancePaise < next.thresholdPaise ? 1 : 0
  await trx
    .updateTable('wallets')
    .set({ ...values, low })
    .where('organizationId', '=', organizationId)
    .execute()
  if (low === 1 && before.low === 0) {
    await insertEvent(
      trx,
      {
        organizationId,
        environment: 'live',
        type: 'wallet.balance.low',
        subjects: { wallet: organizationId },
      },
      now,
    )
  }
  return { ...next, low }
}

/** Money that is neither held nor spent (paise). */
export function availablePaise(wallet: Pick<WalletRow, 'balancePaise' | 'heldPaise'>): number {
  return wallet.balancePaise - wallet.heldPaise
}

/**
 * Sets money aside. Returns false, and changes nothing, when the available balance does not cover it or the
 * wallet is frozen. True when the reference has its hold already.
 *
 * The row of the hold is inserted first, so that a second hold of the same reference waits for the first one. The statement
 * that takes the money locks the wallet.
 */
export async function hold(
  trx: Trx,
  organizationId: string,
  reference: Reference,
  amountPaise: number,
  now: number,
): Promise<boolean> {
  const key = keyOf(organizationId, reference)
  const inserted = await trx
    .insertInto('walletHolds')
    .columns(['organizationId', 'referenceType', 'referenceId', 'amountPaise', 'extendAt', 'createdAt'])
    .expression((eb) =>
      eb
        .selectFrom('wallets')
        .select([
          'organizationId',
          eb.val(reference.type).as('referenceType'),
          eb.val(reference.id).as('referenceId'),
          eb.cast<number>(eb.val(amountPaise), 'bigint').as('amountPaise'),
          eb.cast<number | null>(eb.val(null), 'bigint').as('extendAt'),
          eb.cast<number>(eb.val(now), 'bigint').as('createdAt'),
        ])
        .where('organizationId', '=', organizationId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('referenceId')
    .executeTakeFirst()
  if (inserted === undefined) return (await findHold(trx, organizationId, reference)) !== null
  const taken = await trx
    .updateTable('wallets')
    .set((eb) => ({ heldPaise: eb('heldPaise', '+', amountPaise), updatedAt: now }))
    .where('organizationId', '=', organizationId)
    .where('onHold', '=', 0)
    .where('haltedAt', 'is', null)
    .where((eb) => eb(eb('balancePaise', '-', eb.ref('heldPaise')), '>=', amountPaise))
    .returning('organizationId')
    .executeTakeFirst()
  if (taken !== undefined) return true
  await trx
    .deleteFrom('walletHolds')
    .where((eb) => eb.and(key))
    .execute()
  return false
}

/**
 * Raises a hold to `amountPaise`, or by all that is available if that is less, and sets the time of its next extension
 * by the amount that is held then. Returns this amount, or null if the hold is gone.
 */
export async function extendHold(
  trx: Trx,
  organizationId: string,
  reference: Reference,
  amountPaise: number,
  extendAt: (heldPaise: number) => number,
  now: number,
): Promise<number | null> {
  const held = await lockHold(trx, organizationId, reference)
  if (held === null) return null
  const wanted = Math.max(0, amountPaise - held.amountPaise)
  const morePaise = (await takeAvailable(trx, organizationId, wanted, now)) ? wanted : await takeRest()
  const heldPaise = held.amountPaise + morePaise
  await trx
    .updateTable('walletHolds')
    .set({ amountPaise: heldPaise, extendAt: extendAt(heldPaise) })
    .where((eb) => eb.and(keyOf(organizationId, reference)))
    .execute()
  return heldPaise

  async function takeRest(): Promise<number> {
    const available = availablePaise(await lockWallet(trx, organizationId, now))
    const rest = Math.max(0, Math.min(wanted, available))
    return (await takeAvailable(trx, organizationId, rest, now)) ? rest : 0
  }
}

/** Adds to what is held of a wallet, without regard to whether it is frozen. Returns false if less is available. */
async function takeAvailable(trx: Trx, organizationId: string, paise: number, now: number): Promise<boolean> {
  if (paise === 0) return true
  const taken = await trx
    .updateTable('wallets')
    .set((eb) => ({ heldPaise: eb('heldPaise', '+', paise), updatedAt: now }))
    .where('organizationId', '=', organizationId)
    .where((eb) => eb(eb('balancePaise', '-', eb.ref('heldPaise')), '>=', paise))
    .returning('organizationId')
    .executeTakeFirst()
  return taken !== undefined
}

/** Locks a hold until the end of the transaction. Null if there is none. */
async function lockHold(
  trx: Trx,
  organizationId: string,
  reference: Reference,
): Promise<Pick<WalletHoldRow, 'amountPaise'> | null> {
  const row = await trx
    .updateTable('walletHolds')
    .set((eb) => ({ amountPaise: eb.ref('amountPaise') }))
    .where((eb) => eb.and(keyOf(organizationId, reference)))
    .returning('amountPaise')
    .executeTakeFirst()
  return row ?? null
}

/**
 * Releases the hold of a reference. Does nothing when there is none. Like everything that changes a stored hold it locks the
 * hold before the wallet, so that two processes never wait for each other, and the wallet is locked for the shortest time.
 */
export async function releaseHold(
  trx: Trx,
  organizationId: string,
  reference: Reference,
  now: number,
): Promise<void> {
  const released = await trx
    .deleteFrom('walletHolds')
    .where((eb) => eb.and(keyOf(organizationId, reference)))
    .returning('amountPaise')
    .executeTakeFirst()
  if (released === undefined) return
  await trx
    .updateTable('wallets')
    .set((eb) => ({ heldPaise: eb('heldPaise', '-', released.amountPaise), updatedAt: now }))
    .where('organizationId', '=', organizationId)
    .execute()
}

export async function findHold(
  trx: Db | Trx,
  organizationId: string,
  reference: Reference,
): Promise<WalletHoldRow | null> {
  const row = await trx
    .selectFrom('walletHolds')
    .selectAll()
    .where((eb) => eb.and(keyOf(organizationId, reference)))
    .executeTakeFirst()
  return row ?? null
}

function keyOf(organizationId: string, reference: Reference) {
  return { organizationId, referenceType: reference.type, referenceId: reference.id }
}
