/*
 * Times are Unix milliseconds, flags are 0 or 1, amounts are integer paise, in both SQLite and PostgreSQL.
 * The wallet belongs to the live environment; the test environment stores no money.
 */

/** The wallet of an organization. Every change of money begins with an update of this row, which locks it. */
export interface WalletRow {
  readonly organizationId: string
  /** Sum of all ledger entries. */
  readonly balancePaise: number
  /** Sum of all holds. */
  readonly heldPaise: number
  readonly thresholdPaise: number
  /** 1 from the crossing below the threshold until the balance is above it again. */
  readonly low: number
  /** 1 while staff or a payment dispute has frozen the wallet. */
  readonly onHold: number
  /** Text of staff for its hold. Null while staff holds nothing. */
  readonly holdReason: string | null
  /** Hold of the payment disputes of the organization. Null while they hold nothing. */
  readonly disputeHold: 'payment_dispute' | 'payment_dispute_lost' | null
  /** Number of ledger entries, which is the `seq` of the last one. */
  readonly entries: number
  /** Time at which the balance or the holds did not equal their sums. Null while they do. */
  readonly haltedAt: number | null
  /** Time of the last comparison with the sums after a change. */
  readonly checkedAt: number
  readonly updatedAt: number
}

/** Entry of the ledger. A trigger rejects every change except setting `invoiceId` once. */
export interface LedgerEntryRow {
  readonly id: string
  readonly organizationId: string
  /** Numbered from 1 without gaps. */
  readonly seq: number
  readonly type: string
  /** Null for top-ups and their refunds. A reversal has the category of the entry that it reverses. */
  readonly category: string | null
  readonly amountPaise: number
  readonly balanceAfterPaise: number
  readonly description: string
  readonly referenceType: string
  readonly referenceId: string
  readonly agentId: string | null
  readonly reversesEntryId: string | null
  readonly invoiceId: string | null
  /** Cause of the entry, unique in the organization: the same cause never moves money twice. */
  readonly cause: string
  /** Time at which usage counts the entry: for a reversal that of the entry that it reverses. */
  readonly countsAt: number
  readonly createdAt: number
}

/** Money that is set aside for something that is not billed yet, for example a call in progress. */
export interface WalletHoldRow {
  readonly organizationId: string
  readonly referenceType: string
  readonly referenceId: string
  readonly amountPaise: number
  /** Time at which the hold must grow. Null while it need not. */
  readonly extendAt: number | null
  readonly createdAt: number
}

/** A change of a balance by staff. */
export interface WalletAdjustmentRow {
  readonly id: string
  readonly organizationId: string
  readonly amountPaise: number
  readonly reference: string
  readonly reason: string
  /**
   * `applied`: made by one person. `pending`: waits until a second person makes it `approved`, or a person
   * `rejected`. Money moved for `applied` and `approved` ones.
   */
  readonly status: 'applied' | 'pending' | 'approved' | 'rejected'
  readonly requestedBy: string
  readonly createdAt: number
  readonly decidedBy: string | null
  readonly decidedAt: number | null
  readonly decisionReason: string | null
}

export interface WalletTables {
  walletAdjustments: WalletAdjustmentRow
  wallets: WalletRow
  ledgerEntries: LedgerEntryRow
  walletHolds: WalletHoldRow
}
