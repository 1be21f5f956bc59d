import { z } from 'zod'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { Db } from '../db/database.js'
import type { InvoiceRegistrationRow, InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent } from './issue.js'
import { awaitsRegistration, findRegistrations } from './register.js'

const party = {
  name: z.string(),
  address: z.string(),
  city: z.string().nullable(),
  pincode: z.string().nullable(),
  stateCode: z.string(),
  gstin: z.string().nullable(),
}

export const DOCUMENT_KINDS = ['invoice', 'credit_note', 'receipt_voucher', 'refund_voucher'] as const

export const Invoice = z.object({
  id: z.string(),
  number: z.string(),
  kind: openEnum(...DOCUMENT_KINDS),
  specimen: z.boolean().meta({ description: 'True if the payment was no money.' }),
  issuedAt: Timestamp,
  supplier: z.object(party),
  recipient: z
    .object({ ...party, sez: z.boolean() })
    .meta({ description: 'The billing details when the top-up was started.' }),
  placeOfSupply: z.string().meta({ description: 'GST code of the state.' }),
  lines: z.array(
    z.object({ description: z.string(), sac: z.string(), ratePercent: z.number(), taxablePaise: z.int() }),
  ),
  cgstPaise: z.int(),
  sgstPaise: z.int(),
  utgstPaise: z.int(),
  igstPaise: z.int(),
  roundOffPaise: z.int(),
  totalPaise: z.int(),
  topupId: z.string(),
  originalInvoiceId: z.string().nullable(),
  eInvoice: z
    .object({
      status: openEnum('pending', 'registered'),
      irn: z.string().nullable(),
      ackNo: z.string().nullable(),
      ackAt: Timestamp.nullable(),
    })
    .nullable()
    .meta({
      description:
        'Registration at an Invoice Registration Portal. Null if the document needs none. A pending document is no invoice yet and has no PDF.',
    }),
})

/** Returns the views of tax documents with their registrations. */
export async function invoiceViews(
  db: Db,
  rows: readonly InvoiceRow[],
): Promise<readonly z.input<typeof Invoice>[]> {
  const registrations = await findRegistrations(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => invoiceView(row, registrations.get(row.id) ?? null))
}

export function invoiceView(
  row: InvoiceRow,
  registration: InvoiceRegistrationRow | null,
): z.input<typeof Invoice> {
  const { supplier, recipient, placeOfSupply, rate } = JSON.parse(row.content) as DocumentContent
  const { id, number, kind, topupId, originalInvoiceId, taxablePaise, totalPaise, roundOffPaise } = row
  const { cgstPaise, sgstPaise, utgstPaise, igstPaise } = row
  const { description, sac, ratePercent } = rate
  return {
    ...{ id, number, kind, specimen: row.specimen === 1, issuedAt: timestamp(row.issuedAt) },
    ...{
      supplier,
      recipient: { ...recipient, sez: recipient.sez ?? false },
      placeOfSupply,
      lines: [{ description, sac, ratePercent, taxablePaise }],
    },
    ...{ cgstPaise, sgstPaise, utgstPaise, igstPaise, roundOffPaise, totalPaise, topupId, originalInvoiceId },
    eInvoice: eInvoiceView(row, registration),
  }
}

function eInvoiceView(row: InvoiceRow, registration: InvoiceRegistrationRow | null) {
  const pending = awaitsRegistration(row, registration)
  if (registration === null && !pending) return null
  const { irn = null, ackNo = null, ackAt = null } = registration ?? {}
  return { status: pending ? 'pending' : 'registered', irn, ackNo, ackAt: timestampOrNull(ackAt) }
}
