import { z } from 'zod'
import type { CsvColumn } from '../base/csv.js'
import { openEnum, Timestamp, timestamp } from '../base/schemas.js'
import type { LedgerEntryRow, WalletRow } from '../db/tables/wallet.js'

/** Available balance that a live call needs (paise). It is held when the call is placed. */
export const MIN_CALL_PAISE = 1_200
const CURRENCY = 'INR'

export const Wallet = z.object({
  balancePaise: z.int(),
  heldPaise: z.int().meta({ description: 'Set aside for calls and purchases in progress.' }),
  thresholdPaise: z.int(),
  currency: z.string(),
  ratePaisePerMinute: z.int(),
  onHold: z.boolean().meta({ description: 'No call is placed while the wallet is on hold.' }),
  holdReason: z.string().nullable(),
  minCallBalancePaise: z.int(),
  environment: z.enum(['test', 'live']),
  updatedAt: Timestamp,
})

export type WalletView = z.input<typeof Wallet>

/** Returns why a wallet is on hold: the text of staff, else the state of its disputes. Null if it is not. */
export function holdReason(row: Pick<WalletRow, 'holdReason' | 'disputeHold'>): string | null {
  return row.holdReason ?? row.disputeHold
}

/** Returns a wallet as the API shows it. */
export function walletView(
  row: WalletRow,
  environment: 'test' | 'live',
  ratePaisePerMinute: number,
): WalletView {
  return {
    balancePaise: row.balancePaise,
    heldPaise: row.heldPaise,
    thresholdPaise: row.thresholdPaise,
    currency: CURRENCY,
    ratePaisePerMinute,
    onHold: row.onHold === 1,
    holdReason: holdReason(row),
    minCallBalancePaise: MIN_CALL_PAISE,
    environment,
    updatedAt: timestamp(row.updatedAt),
  }
}

export const LedgerEntry = z.object({
  id: z.string(),
  seq: z.int(),
  type: openEnum(
    ...['topup', 'topup_refund', 'call', 'number_setup', 'number_rental', 'compliance_check'],
    ...['adjustment', 'reversal'],
  ),
  category: openEnum('calls', 'numbers', 'compliance', 'adjustments').nullable(),
  amountPaise: z.int().meta({ description: 'Positive adds to the balance, negative takes from it.' }),
  balanceAfterPaise: z.int(),
  currency: z.string(),
  description: z.string(),
  reference: z.object({ type: openEnum('call', 'number', 'topup', 'check', 'adjustment'), id: z.string() }),
  agentId: z.string().nullable(),
  reversesEntryId: z.string().nullable(),
  invoiceId: z.string().nullable(),
  createdAt: Timestamp,
})

type LedgerEntryView = z.input<typeof LedgerEntry>

export function entryView(row: LedgerEntryRow): LedgerEntryView {
  return {
    id: row.id,
    seq: row.seq,
    type: row.type,
    category: row.category,
    amountPaise: row.amountPaise,
    balanceAfterPaise: row.balanceAfterPaise,
    currency: CURRENCY,
    description: row.description,
    reference: { type: row.referenceType, id: row.referenceId },
    agentId: row.agentId,
    reversesEntryId: row.reversesEntryId,
    invoiceId: row.invoiceId,
    createdAt: timestamp(row.createdAt),
  }
}

/** Columns of the CSV export, with the names of the fields of an entry. */
export const ENTRY_COLUMNS: readonly CsvColumn<LedgerEntryView>[] = [
  { name: 'seq', value: (entry) => entry.seq },
  { name: 'id', value: (entry) => entry.id },
  { name: 'createdAt', value: (entry) => entry.createdAt },
  { name: 'type', value: (entry) => entry.type },
  { name: 'category', value: (entry) => entry.category },
  { name: 'amountPaise', value: (entry) => entry.amountPaise },
  { name: 'balanceAfterPaise', value: (entry) => entry.balanceAfterPaise },
  { name: 'currency', value: (entry) => entry.currency },
  { name: 'description', value: (entry) => entry.description },
  { name: 'referenceType', value: (entry) => entry.reference.type },
  { name: 'referenceId', value: (entry) => entry.reference.id },
  { name: 'agentId', value: (entry) => entry.agentId },
  { name: 'reversesEntryId', value: (entry) => entry.reversesEntryId },
  { name: 'invoiceId', value: (entry) => entry.invoiceId },
]
