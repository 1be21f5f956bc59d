import { dayBefore, istDate } from '../base/ist.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import type { DocumentContent, Recipient } from './issue.js'

/*
 * Documents in the e-invoice schema INV-01, version 1.1, as the bulk upload of an Invoice Registration Portal takes them:
 * https://einvoice6.gst.gov.in/content/notified-e-invoice-schema/
 */

const VERSION = '1.1'
/** Characters of a name and of each of the two lines of an address. */
const LINE = 100

/** A document for the portal, or why the portal would refuse it. */
export type ExportedDocument =
  | { readonly number: string; readonly document: object }
  | { readonly number: string; readonly problem: string }

/** Returns a document in the schema INV-01. Amounts are rupees. */
export function inv01(row: InvoiceRow, original: InvoiceRow | null): ExportedDocument {
  const { number } = row
  const content = JSON.parse(row.content) as DocumentContent
  const { supplier, recipient, placeOfSupply, rate } = content
  const problem = [
    ...partyProblems('supplier', supplier),
    ...partyProblems('recipient', recipient),
    ...(rate.sac.length < 6 ? ['the SAC has fewer than 6 digits'] : []),
  ].join(', ')
  if (problem !== '') return { number, problem }
  // The schema has one field for the tax of states and of union territories.
  const taxes = {
    IgstAmt: rupees(row.igstPaise),
    CgstAmt: rupees(row.cgstPaise),
    SgstAmt: rupees(row.sgstPaise + row.utgstPaise),
  }
  const document = {
    Version: VERSION,
    TranDtls: {
      TaxSch: 'GST',
      SupTyp: recipient.sez === true ? 'SEZWP' : 'B2B',
      RegRev: 'N',
      EcmGstin: null,
      IgstOnIntra: 'N',
    },
    DocDtls: {
      Typ: portalType(row),
      No: number,
      Dt: portalDay(istDate(row.issuedAt)),
    },
    SellerDtls: partyOf(supplier),
    BuyerDtls: { ...partyOf(recipient), Pos: placeOfSupply },
    ItemList: [
      {
        ...{ SlNo: '1', PrdDesc: rate.description, IsServc: 'Y', HsnCd: rate.sac, Qty: 1, Unit: 'OTH' },
        ...{ UnitPrice: rupees(row.taxablePaise), TotAmt: rupees(row.taxablePaise), Discount: 0 },
        ...{ AssAmt: rupees(row.taxablePaise), GstRt: rate.ratePercent, ...taxes },
        TotItemVal: rupees(row.totalPaise - row.roundOffPaise),
      },
    ],
    ValDtls: {
      AssVal: rupees(row.taxablePaise),
      ...{ CgstVal: taxes.CgstAmt, SgstVal: taxes.SgstAmt, IgstVal: taxes.IgstAmt },
      RndOffAmt: rupees(row.roundOffPaise),
      TotInvVal: rupees(row.totalPaise),
    },
    ...referenceOf(original, content),
  }
  return { number, document }
}

/** The portal knows invoices only: a receipt voucher is no document that came before. */
function referenceOf(original: InvoiceRow | null, { period }: DocumentContent): object | null {
  if (period !== undefined) {
    const days = { InvStDt: portalDay(period.startsOn), InvEndDt: portalDay(dayBefore(period.before)) }
    return { RefDtls: { DocPerdDtls: days } }
  }
  if (original?.kind !== 'invoice') return null
  const before = { InvNo: original.number, InvDt: portalDay(istDate(original.issuedAt)) }
  return { RefDtls: { PrecDocDtls: [before] } }
}

function partyOf({ name, address, city, pincode, stateCode, gstin }: Recipient): object {
  const more = address.slice(LINE)
  return {
    ...{ Gstin: gstin, LglNm: name, Addr1: address.slice(0, LINE) },
    ...(more === '' ? {} : { Addr2: more }),
    ...{ Loc: city, Pin: Number(pincode), Stcd: stateCode },
  }
}

function partyProblems(who: string, { name, address, city, pincode, gstin }: Recipient): readonly string[] {
  return [
    ...(gstin === null ? [`the ${who} has no GSTIN`] : []),
    ...(name.length < 3 || name.length > LINE ? [`the name of the ${who} has not 3 to 100 characters`] : []),
    ...(address.length < 3 || address.length > 2 * LINE
      ? [`the address of the ${who} has not 3 to 200 characters`]
      : []),
    ...(city === null || city.length < 3 || city.length > 50
      ? [`the city of the ${who} has not 3 to 50 characters`]
      : []),
    ...(pincode === null ? [`the ${who} has no PIN code`] : []),
  ]
}

function rupees(paise: number): number {
  return paise / 100
}

/** Returns the type of an invoice or a credit note. */
export function portalType({ kind }: Pick<InvoiceRow, 'kind'>): 'INV' | 'CRN' {
  return kind === 'credit_note' ? 'CRN' : 'INV'
}

/** Returns a day (`YYYY-MM-DD`) as `DD/MM/YYYY`. */
export function portalDay(day: string): string {
  return day.split('-').toReversed().join('/')
}
