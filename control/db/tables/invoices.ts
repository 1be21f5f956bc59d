/** A tax document. A trigger rejects every change. Amounts are integer paise, times Unix milliseconds. */
export interface InvoiceRow {
  readonly id: string
  readonly organizationId: string
  readonly kind: 'invoice' | 'credit_note' | 'receipt_voucher' | 'refund_voucher'
  /** `PI/26-27/000001`: unique, without gaps in its series and financial year. */
  readonly number: string
  readonly series: string
  /** `26-27` begins on 1 April 2026 (IST). */
  readonly financialYear: string
  readonly seq: number
  /** 1 if the payment was no money. A specimen has a series of its own. */
  readonly specimen: number
  readonly issuedAt: number
  readonly topupId: string
  /**
   * Cause of the document: `payment`, `use:` and the first day of a period, or `refund:` and the id of the refund.
   * Issued once for each.
   */
  readonly cause: string
  readonly originalInvoiceId: string | null
  /** JSON of what the document says besides its amounts: `DocumentContent`. */
  readonly content: string
  readonly taxablePaise: number
  readonly cgstPaise: number
  readonly sgstPaise: number
  readonly utgstPaise: number
  readonly igstPaise: number
  readonly roundOffPaise: number
  readonly totalPaise: number
}

/** The last number of a series in a financial year. */
export interface InvoiceSeriesRow {
  readonly series: string
  readonly financialYear: string
  readonly last: number
}

/** Half a month of use that was invoiced to an organization with receipt vouchers. Days are `YYYY-MM-DD` (IST). */
export interface UsePeriodRow {
  readonly organizationId: string
  readonly startsOn: string
  /** First day of the next period. */
  readonly endsBefore: string
  /** Last entry of the ledger that counted. */
  readonly lastSeq: number
  /** Money given back beyond all use. It lowers the use of the next period. */
  readonly givenBackPaise: number
  readonly closedAt: number
}

/** The PDF file of a tax document in the object store. A trigger rejects every change. */
export interface InvoiceFileRow {
  readonly invoiceId: string
  /** SHA-256 (hex) of the file. */
  readonly sha256: string
  readonly createdAt: number
}

/** Registration of a tax document as an e-invoice. A trigger rejects every change but the first value of `sha256`. */
export interface InvoiceRegistrationRow {
  readonly invoiceId: string
  /** Invoice reference number: 64 hexadecimal digits, small. */
  readonly irn: string
  /** Number and time of the acknowledgement (Unix ms). */
  readonly ackNo: string
  readonly ackAt: number
  /** Text of the QR code: a JSON web token that the portal has signed. */
  readonly signedQr: string
  /** SHA-256 (hex) of the file with IRN and QR code. Null until it is drawn. */
  readonly sha256: string | null
  readonly createdAt: number
}

export interface InvoiceTables {
  invoiceRegistrations: InvoiceRegistrationRow
  invoiceFiles: InvoiceFileRow
  usePeriods: UsePeriodRow
  invoices: InvoiceRow
  invoiceSeries: InvoiceSeriesRow
}
