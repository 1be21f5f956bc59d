/*
 * The port of payment gateways. A gateway is asked for the state of an order; its events and the return of the
 * browser only say that the state may have changed. Their order and number therefore do not matter.
 */

export interface GatewayRefund {
  readonly id: string
  readonly amountPaise: number
  readonly status: 'pending' | 'processed' | 'failed'
}

export interface GatewayPayment {
  readonly id: string
  readonly amountPaise: number
  readonly currency: string
  /** `captured`: the money is taken. A failed payment may still be captured later. */
  readonly status: 'pending' | 'captured' | 'failed'
  /** Reference of the bank (RRN, UTR), or null. */
  readonly bankReference: string | null
  readonly refunds: readonly GatewayRefund[]
}

export interface GatewayDispute {
  readonly id: string
  readonly paymentId: string
  /** `retrieval` asks for documents only. The other phases claim the money. */
  readonly phase: string
  readonly status: 'open' | 'under_review' | 'won' | 'lost' | 'closed'
  /** The claimed amount. */
  readonly amountPaise: number
  /** Amount that the gateway took from the operator's account. 0 unless the dispute is lost. */
  readonly deductedPaise: number
}

/** Row of the gateway's settlement report. */
export interface SettlementRow {
  readonly type: 'payment' | 'refund' | 'adjustment' | 'other'
  /** Id of the payment, refund or adjustment. */
  readonly id: string
  readonly amountPaise: number
  /** Payment of a refund. Null for other rows, and if the report does not name it. */
  readonly paymentId: string | null
  readonly disputeId: string | null
  /** Receipt of the order of a payment. Null for other rows. */
  readonly receipt: string | null
  readonly settlementId: string | null
}

/** Subject of an event. */
export interface GatewayNotice {
  readonly type: string
  /** Order of the event. Null if it names none. */
  readonly orderRef: string | null
  readonly disputeId: string | null
}

/** An order, as far as a gateway needs it. */
export interface GatewayOrder {
  readonly topupId: string
  readonly ref: string
  readonly payablePaise: number
}

/** The form that leads the browser from the checkout page to the gateway. */
export interface CheckoutForm {
  /** Null posts to the checkout page itself. */
  readonly action: string | null
  readonly fields: Readonly<Record<string, string>>
  /** The first of those that are shown is what the customer came for. */
  readonly buttons: readonly {
    readonly label: string
    readonly value: string
    /** True if it belongs to a payment that has arrived. */
    readonly paid: boolean
  }[]
}

/** All functions that contact the gateway throw EngineError `vendor_*` when it cannot be reached or refuses. */
export interface PaymentGateway {
  readonly id: 'razorpay' | 'sandbox'
  /** False if payments are no money. Their documents are specimens. */
  readonly real: boolean
  /** Makes an order. `receipt` identifies it in the gateway's reports. Returns its id. */
  openOrder(order: { readonly receipt: string; readonly payablePaise: number }): Promise<string>
  readPayments(orderRef: string): Promise<readonly GatewayPayment[]>
  /** Returns null if the gateway has no such dispute. */
  readDispute(disputeId: string): Promise<GatewayDispute | null>
  /** Returns the report of a day (IST, `YYYY-MM-DD`). */
  readSettlement(day: string): Promise<readonly SettlementRow[]>
  /** Refunds a payment. The same `key` refunds once. */
  refund(refund: {
    readonly paymentId: string
    readonly amountPaise: number
    readonly key: string
  }): Promise<void>
  /** `pageUrl` is the checkout page, to which the browser returns with GET or POST. */
  checkoutForm(order: GatewayOrder, pageUrl: string): CheckoutForm
  /** Handles the POST with which the browser returns. Returns false if it proves nothing. */
  takeReturn(order: GatewayOrder, fields: ReadonlyMap<string, string>): Promise<boolean>
  /** Reads the body of an authentic event. Null if it is not understood. */
  readNotice(body: Buffer): GatewayNotice | null
}

/** States of a dispute in which the money is claimed. */
export function isClaim({ phase, status }: Pick<GatewayDispute, 'phase' | 'status'>): boolean {
  return phase !== 'retrieval' && (status === 'open' || status === 'under_review')
}
