import { z } from 'zod'
import { openEnum, Timestamp, timestamp } from '../base/schemas.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent } from './issue.js'

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
  recipient: z.object(party).meta({ description: 'The billing details when the top-up was started.' }),
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
})

export function invoiceView(row: InvoiceRow): z.input<typeof Invoice> {
  const { supplier, recipient, placeOfSupply, rate } = JSON.parse(row.content) as DocumentContent
  const { id, number, kind, topupId, originalInvoiceId, taxablePaise, totalPaise, roundOffPaise } = row
  const { cgstPaise, sgstPaise, utgstPaise, igstPaise } = row
  const { description, sac, ratePercent } = rate
  return {
    ...{ id, number, kind, specimen: row.specimen === 1, issuedAt: timestamp(row.issuedAt) },
    ...{ supplier, recipient, placeOfSupply, lines: [{ description, sac, ratePercent, taxablePaise }] },
    ...{ cgstPaise, sgstPaise, utgstPaise, igstPaise, roundOffPaise, totalPaise, topupId, originalInvoiceId },
  }
}
