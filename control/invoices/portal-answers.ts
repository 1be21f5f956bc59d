import { istDate } from '../base/ist.js'
import type { InvoiceRow } from '../db/tables/invoices.js'
import { portalDay, portalType } from './inv01.js'
import type { DocumentContent } from './issue.js'

/*
 * Answers of an Invoice Registration Portal about registered documents, with the fields of its API:
 * https://einv-apisandbox.nic.in/version1.03/generate-irn.html
 * Files that portals and providers make from them write some names otherwise.
 */

/** An answer as a file states it. A field that is missing is an empty text. */
export type PortalAnswer = Readonly<Record<(typeof FIELDS)[number], string>>

/** A registration that an answer proves. */
export interface Registration {
  readonly irn: string
  readonly ackNo: string
  readonly ackAt: number
  readonly signedQr: string
}

const FIELDS = ['irn', 'ackNo', 'ackDt', 'signedQrCode', 'status'] as const
const NAMES: Readonly<Record<string, (typeof FIELDS)[number]>> = {
  irn: 'irn',
  ackno: 'ackNo',
  ackdt: 'ackDt',
  ackdate: 'ackDt',
  signedqrcode: 'signedQrCode',
  signedqr: 'signedQrCode',
  status: 'status',
}
/** The longest text of the largest QR code (version 40, level L). */
const MAX_QR_TEXT = 2_953

/** Returns the answer in an entry of a file. Names of fields may have other letter sizes, spaces and signs. */
export function portalAnswer(entries: Iterable<readonly [string, unknown]>): PortalAnswer {
  const answer: { -readonly [F in keyof PortalAnswer]: string } = {
    ...{ irn: '', ackNo: '', ackDt: '', signedQrCode: '', status: '' },
  }
  for (const [name, value] of entries) {
    const field = NAMES[name.toLowerCase().replaceAll(/[^a-z]/g, '')]
    if (field === undefined || (typeof value !== 'string' && typeof value !== 'number')) continue
    answer[field] = String(value).trim()
  }
  return answer
}

/** Returns the number of the document that an answer is about, or why the answer proves no registration. */
export function answeredDocument({
  signedQrCode,
}: PortalAnswer): { readonly number: string; readonly said: QrFacts } | { readonly reason: string } {
  if (signedQrCode === '') return { reason: 'there is no signed QR code' }
  const said = qrFacts(signedQrCode)
  const number = said?.DocNo
  if (said === null || typeof number !== 'string') return { reason: 'the signed QR code cannot be read' }
  return { number, said }
}

/** Returns the registration of a document, or why the answer does not belong to it. */
export function registrationOf(
  { irn, ackNo, ackDt, signedQrCode, status }: PortalAnswer,
  said: QrFacts,
  row: InvoiceRow,
): Registration | { readonly reason: string } {
  const { supplier, recipient } = JSON.parse(row.content) as DocumentContent
  if (row.specimen === 1 || (row.kind !== 'invoice' && row.kind !== 'credit_note')) {
    return { reason: 'the document is no e-invoice' }
  }
  if (/^c(?:nl|an)/i.test(status)) return { reason: `the portal states the status ${status}` }
  const small = irn.toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(small)) return { reason: 'the IRN has not 64 hexadecimal digits' }
  if (!/^\d{6,20}$/.test(ackNo)) return { reason: 'the acknowledgement number has not 6 to 20 digits' }
  const ackAt = portalTime(ackDt)
  if (ackAt === null) {
    return { reason: 'the acknowledgement date is not like 2027-01-31 14:05:00 or 31/01/2027 14:05:00' }
  }
  const expected: Readonly<Record<string, string | number | null>> = {
    Irn: small,
    SellerGstin: supplier.gstin,
    BuyerGstin: recipient.gstin,
    DocTyp: portalType(row),
    DocDt: portalDay(istDate(row.issuedAt)),
    TotInvVal: row.totalPaise / 100,
  }
  const other = Object.entries(expected).filter(([field, value]) => !equal(said[field], value))
  if (other.length > 0) {
    const fields = other.map(([field, value]) => `${field} ${said[field]} instead of ${value}`)
    return { reason: `the signed QR code states ${fields.join(', ')}` }
  }
  return { irn: small, ackNo, ackAt, signedQr: signedQrCode }
}

type QrFacts = Readonly<Record<string, unknown>>

/** Reads what a signed QR code states. Returns null if the text is none. Its signature is not verified. */
function qrFacts(signedQr: string): QrFacts | null {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(signedQr) ?? []
  if (payload === undefined || signedQr.length > MAX_QR_TEXT) return null
  const { data } = object(Buffer.from(payload, 'base64url').toString('utf8')) ?? {}
  return object(data)
}

/** Returns a JSON object, which may be given as its text. Null if it is something else. */
function object(value: unknown): QrFacts | null {
  if (typeof value !== 'string') return isObject(value) ? value : null
  try {
    return object(JSON.parse(value) as object)
  } catch {
    return null
  }
}

function isObject(value: unknown): value is QrFacts {
  return typeof value === 'object' && value !== null
}

function equal(said: unknown, expected: string | number | null): boolean {
  if (typeof expected === 'number') return said !== '' && Number(said) === expected
  return typeof said === 'string' && said.toLowerCase() === expected?.toLowerCase()
}

/** Returns a time of the portal (IST) as Unix ms, or null. */
function portalTime(text: string): number | null {
  const found = /^(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)[/-](\d\d)[/-](\d{4}))[ T](\d\d:\d\d)(?::(\d\d))?$/.exec(
    text,
  )
  if (found === null) return null
  const [, y1, m1, d1, d2, m2, y2, minute, second = '00'] = found
  const day = `${y1 ?? y2}-${m1 ?? m2}-${d1 ?? d2}`
  const at = Date.parse(`${day}T${minute}:${second}+05:30`)
  return Number.isNaN(at) || istDate(at) !== day ? null : at
}
