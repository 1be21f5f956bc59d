/*
 * Times are Unix milliseconds, flags are 0 or 1, amounts are integer paise, in both SQLite and PostgreSQL.
 * Payments belong to the live environment; the test environment stores no money.
 */

/** A top-up of the wallet: an order at the payment gateway. Its payment is credited once. */
export interface TopupRow {
  readonly id: string
  readonly organizationId: string
  readonly gateway: string
  /** Id of the order at the gateway. Null until the gateway has made it. */
  readonly gatewayRef: string | null
  readonly status: 'created' | 'paid' | 'failed' | 'expired' | 'partially_refunded' | 'refunded' | 'disputed'
  /** Credit of the wallet, which is the taxable value. */
  readonly amountPaise: number
  readonly cgstPaise: number
  readonly sgstPaise: number
  readonly utgstPaise: number
  readonly igstPaise: number
  readonly payablePaise: number
  /** JSON of the `GstRate` at creation. The tax of a late payment is that of its order. */
  readonly rate: string
  /** JSON of the billing details at creation: `Recipient`. */
  readonly recipient: string
  /** The payment that was credited, unique for a gateway. Null until then. */
  readonly paymentId: string | null
  /** Reference of the bank (RRN, UTR) on the invoice. Null if the gateway has none. */
  readonly bankReference: string | null
  readonly createdBy: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly paidAt: number | null
  /** Last event of the gateway about this top-up. Null if none arrived. */
  readonly notifiedAt: number | null
  /** Settlement that the payment was part of. Null until the gateway's report names it. */
  readonly settlementId: string | null
  readonly updatedAt: number
}

/** A refund of a top-up at the gateway, unique for a gateway. */
export interface TopupRefundRow {
  readonly gateway: string
  readonly refundId: string
  readonly topupId: string
  readonly status: 'pending' | 'processed' | 'failed'
  /** Amount that the customer gets back: value and tax. */
  readonly grossPaise: number
  readonly taxablePaise: number
  readonly cgstPaise: number
  readonly sgstPaise: number
  readonly utgstPaise: number
  readonly igstPaise: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A dispute about the payment of a top-up, unique for a gateway. */
export interface TopupDisputeRow {
  readonly gateway: string
  readonly disputeId: string
  readonly topupId: string
  readonly phase: string
  readonly status: 'open' | 'under_review' | 'won' | 'lost' | 'closed'
  /** The claimed amount; of a lost dispute the amount that the gateway took. */
  readonly amountPaise: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Something about money that no rule decides. Staff resolves it. */
export interface PaymentExceptionRow {
  readonly id: string
  readonly gateway: string
  readonly kind: string
  /** Subject of the exception. The same subject is reported once for each kind. */
  readonly subject: string
  readonly organizationId: string | null
  readonly topupId: string | null
  readonly paymentId: string | null
  readonly amountPaise: number | null
  /** JSON object. */
  readonly details: string
  readonly createdAt: number
  readonly resolution: string | null
  readonly reason: string | null
  readonly resolvedBy: string | null
  readonly resolvedAt: number | null
  /** Number of claims so far. A release changes nothing if it has grown since the claim. */
  readonly attempts: number
  /** Time of the latest claim (Unix ms). Null if no claim can have moved money. */
  readonly attemptedAt: number | null
}

/** An order of the sandbox gateway. */
export interface SandboxOrderRow {
  readonly id: string
  readonly amountPaise: number
  /** JSON of its payments: `GatewayPayment[]`. */
  readonly payments: string
}

export interface PaymentTables {
  topups: TopupRow
  topupRefunds: TopupRefundRow
  topupDisputes: TopupDisputeRow
  paymentExceptions: PaymentExceptionRow
  sandboxOrders: SandboxOrderRow
}
