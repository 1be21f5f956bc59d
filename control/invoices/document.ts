import type { PdfBlock, PdfDocument } from '../../workers/jobs/pdf/document.js'
import { dayBefore, istDate, istTime } from '../base/ist.js'
import { STATES } from '../billing/gstin.js'
import type { InvoiceRegistrationRow, InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent, Recipient } from './issue.js'

const TITLES: Readonly<Record<InvoiceRow['kind'], string>> = {
  invoice: 'Tax invoice',
  credit_note: 'Credit note',
  receipt_voucher: 'Receipt voucher',
  refund_voucher: 'Refund voucher',
}

const HEADS = [
  ['cgstPaise', 'CGST', 2],
  ['sgstPaise', 'SGST', 2],
  ['utgstPaise', 'UTGST', 2],
  ['igstPaise', 'IGST', 1],
] as const

/** Text that rule 46 of the CGST Rules asks for on an invoice to a special economic zone. */
const SEZ_ENDORSEMENT =
  'SUPPLY MEANT FOR EXPORT/SUPPLY TO SEZ UNIT OR SEZ DEVELOPER FOR AUTHORISED OPERATIONS ON PAYMENT OF INTEGRATED TAX'

/** Side of the QR code of an e-invoice in points: 50 mm, because its text of about 1,000 characters needs more than 100 squares. */
const QR_SIDE = 142

/**
 * Returns a tax document for print, with the fields of rules 46, 50, 51 and 53(1A) of the CGST Rules, and of rule 46(r) if it is
 * registered as an e-invoice. The same rows always give the same document. A name stands in its own script.
 */
export function invoiceDocument(
  row: InvoiceRow,
  registration: Pick<InvoiceRegistrationRow, 'irn' | 'ackNo' | 'ackAt' | 'signedQr'> | null,
): PdfDocument {
  const content = JSON.parse(row.content) as DocumentContent
  const { supplier, recipient, placeOfSupply, rate, original, paymentId, bankReference, period } = content
  const title = `${row.specimen === 1 ? 'Specimen: ' : ''}${TITLES[row.kind]} ${row.number}`
  const facts = (rows: readonly (readonly [string, string | null])[]): PdfBlock => ({
    kind: 'facts',
    rows: rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  })
  const back = row.kind === 'credit_note' || row.kind === 'refund_voucher'
  const taxes = HEADS.filter(([head]) => row[head] > 0).map(([head, name, parts]) => [
    `${name} ${rate.ratePercent / parts} %`,
    '',
    rupees(row[head]),
  ])
  return {
    title,
    createdAt: row.issuedAt,
    footer: `${supplier.name}, ${row.number}`,
    blocks: [
      ...(row.specimen === 1
        ? [{ kind: 'paragraph', text: 'This document is a specimen. The payment was no money.' } as const]
        : []),
      facts([
        ['Number', row.number],
        ['Date', istDate(row.issuedAt)],
        ['Period', period === undefined ? null : `${period.startsOn} to ${dayBefore(period.before)}`],
        ['Refers to', original === null ? null : `${original.number} of ${istDate(original.issuedAt)}`],
        ['Place of supply', state(placeOfSupply)],
        ['Reverse charge', 'No'],
        [back ? 'Refunded' : 'Paid', bankReference === null ? paymentId : `${paymentId}, ${bankReference}`],
      ]),
      ...(registration === null
        ? []
        : [
            { kind: 'heading', text: 'E-invoice' } as const,
            facts([
              ['IRN', registration.irn],
              [
                'Acknowledgement',
                `${registration.ackNo} of ${istDate(registration.ackAt)}, ${istTime(registration.ackAt)}`,
              ],
            ]),
            { kind: 'qr', text: registration.signedQr, side: QR_SIDE } as const,
          ]),
      { kind: 'heading', text: 'Supplier' },
      facts(partyFacts(supplier)),
      { kind: 'heading', text: 'Recipient' },
      facts(partyFacts(recipient)),
      { kind: 'heading', text: back ? 'Credited' : 'Supplied' },
      {
        kind: 'table',
        columns: [
          { title: 'Description', share: 4 },
          { title: 'SAC', share: 1 },
          { title: 'Amount', share: 2, align: 'right' },
        ],
        rows: [
          [rate.description, rate.sac, rupees(row.taxablePaise)],
          ...taxes,
          ...(row.roundOffPaise === 0 ? [] : [['Rounded off', '', rupees(row.roundOffPaise)]]),
          ['Total', '', rupees(row.totalPaise)],
        ],
      },
      ...(recipient.sez === true && row.kind === 'invoice'
        ? [{ kind: 'paragraph', text: SEZ_ENDORSEMENT } as const]
        : []),
      ...(period === undefined
        ? []
        : [
            {
              kind: 'paragraph',
              text: 'The tax was paid with the receipt voucher. Nothing is due.',
            } as const,
          ]),
      { kind: 'paragraph', text: 'This document was issued electronically and needs no signature.' },
    ],
  }
}

function partyFacts(party: Recipient): readonly (readonly [string, string | null])[] {
  const place = [party.address, party.city, party.pincode].filter((part) => part !== null).join(', ')
  return [
    ['Name', party.name],
    ['Address', place],
    ['State', state(party.stateCode)],
    ['GSTIN', party.gstin ?? 'not registered'],
  ]
}

function state(code: string): string {
  return `${code} ${STATES[code] ?? ''}`.trim()
}

const format = new Intl.NumberFormat('en-IN', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

function rupees(paise: number): string {
  return `₹ ${format.format(paise / 100)}`
}
