import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import { addressProblem, Gstin, Pincode, StateCode } from '../billing/billing-details.js'
import type { GstRate } from '../billing/gst.js'
import { invalid, longSecret, type Parsed, valid } from './parsers.js'

export const PAYMENT_VARIABLES = [
  {
    name: 'PARLEY_PAYMENT_GATEWAY',
    default: 'none',
    description: 'Gateway of top-ups: none, razorpay, or sandbox (development only; no real money)',
  },
  { name: 'PARLEY_RAZORPAY_KEY_ID', default: '', description: 'Key id of the Razorpay account' },
  {
    name: 'PARLEY_RAZORPAY_KEY_SECRET',
    default: '',
    description: 'Secret of that key',
    secret: true,
  },
  {
    name: 'PARLEY_RAZORPAY_WEBHOOK_SECRETS',
    default: '',
    description:
      'Secrets of the Razorpay webhook, comma-separated, 32 characters or more each; earlier ones stay valid while they are listed',
    secret: true,
  },
  {
    name: 'PARLEY_RAZORPAY_URL',
    default: 'https://api.razorpay.com/v1',
    description: 'Base URL of the Razorpay API',
  },
  {
    name: 'PARLEY_GST_FILE',
    default: '',
    description:
      'JSON file with the supplier of invoices, the GST rates and the number series (docs/money.md)',
  },
] as const satisfies readonly Variable[]

export interface RazorpaySetting {
  readonly kind: 'razorpay'
  readonly keyId: string
  readonly keySecret: string
  /** All are accepted. Razorpay signs the repetition of an event with the secret of its first attempt. */
  readonly webhookSecrets: readonly string[]
  readonly url: string
}

/** The gateway of top-ups. */
export type PaymentSetting = RazorpaySetting | { readonly kind: 'sandbox' }

export interface Supplier {
  readonly name: string
  readonly address: string
  readonly city: string
  readonly pincode: string
  readonly stateCode: string
  readonly gstin: string | null
}

export interface GstSetting {
  readonly supplier: Supplier
  /** Document of a payment for the wallet: a tax invoice (CGST Act 31(5)) or a receipt voucher (rule 50). */
  readonly advanceDocument: 'invoice' | 'receipt_voucher'
  /** Prefixes of the number series by kind of document. */
  readonly series: Readonly<Record<DocumentKind, string>>
  readonly rates: readonly GstRate[]
  /** Day (IST) from which documents to registered recipients are registered as e-invoices. Null below that turnover. */
  readonly eInvoicesFrom: string | null
}

export type DocumentKind = 'invoice' | 'credit_note' | 'receipt_voucher' | 'refund_voucher'

const SERIES = { invoice: 'PI', credit_note: 'PC', receipt_voucher: 'PR', refund_voucher: 'PF' } as const

/** Heading 9984 (telecommunication services) is taxed at 18 % since GST began. */
const RATES: readonly GstRate[] = [
  {
    effectiveFrom: '2017-07-01',
    ratePercent: 18,
    sac: '998423',
    description: 'Internet telephony services, prepaid',
    source: 'Notification 11/2017-Central Tax (Rate), heading 9984',
  },
]

/** Supplier of specimens in development. It never stands on a lawful document. */
export const SPECIMEN_GST: GstSetting = {
  supplier: {
    name: 'Parley (specimen)',
    address: 'This installation has no PARLEY_GST_FILE',
    city: 'Bengaluru',
    pincode: '560001',
    stateCode: '29',
    gstin: null,
  },
  advanceDocument: 'invoice',
  series: SERIES,
  rates: RATES,
  eInvoicesFrom: null,
}

// Two characters leave 14 of the 16 that rule 46(b) allows for "/26-27/" and the number.
const Prefix = z.string().regex(/^[A-Z0-9]{1,2}$/, 'must be one or two capital letters or digits')
const line = (max: number) => z.string().min(1).max(max)

const GstFile = z.strictObject({
  supplier: z
    .strictObject({
      name: line(200),
      address: line(500),
      city: line(100),
      pincode: Pincode,
      stateCode: StateCode,
      gstin: Gstin,
    })
    .superRefine((supplier, context) => {
      const problem = addressProblem(supplier)
      if (problem !== null)
        context.addIssue({ code: 'custom', path: [problem.path], message: problem.message })
    }),
  advanceDocument: z.enum(['invoice', 'receipt_voucher']).default('invoice'),
  series: z
    .strictObject({
      invoice: Prefix.default(SERIES.invoice),
      credit_note: Prefix.default(SERIES.credit_note),
      receipt_voucher: Prefix.default(SERIES.receipt_voucher),
      refund_voucher: Prefix.default(SERIES.refund_voucher),
    })
    .refine((series) => new Set(Object.values(series)).size === 4, 'needs four different prefixes')
    .default(SERIES),
  rates: z
    .array(
      z.strictObject({
        effectiveFrom: z.iso.date(),
        ratePercent: z.number().min(0).max(40).multipleOf(0.1),
        sac: z.string().regex(/^99\d{2}(?:\d{2})?$/, 'must be a service accounting code of 4 or 6 digits'),
        description: line(200),
        source: line(300),
      }),
    )
    .min(1)
    .default([...RATES]),
  eInvoicesFrom: z.iso.date().nullable().default(null),
})

/** Parses the path of a GST file. The file is read once, at start. */
export function gstFile(base: string): (value: string) => Parsed<GstSetting> {
  return (value) => {
    const path = resolve(base, value)
    try {
      const parsed = GstFile.safeParse(JSON.parse(readFileSync(path, 'utf8')))
      if (parsed.success) return valid(parsed.data)
      const issues = parsed.error.issues.map(
        (issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`,
      )
      return invalid(`correct ${path}: ${issues.join('; ')}`)
    } catch (error) {
      return invalid(`${path} cannot be read as JSON: ${errorText(error)}`)
    }
  }
}

/** Parses comma-separated secrets. */
export function webhookSecrets(value: string): Parsed<readonly string[]> {
  const secrets = value.split(',').map((secret) => secret.trim())
  const wrong = secrets.map(longSecret).find(({ ok }) => !ok)
  return wrong === undefined ? valid(secrets) : invalid('set secrets of at least 32 characters each')
}

/**
 * Returns the gateway of top-ups, or null for none. Complains about what Razorpay needs and is not set: without a
 * supplier its payments could not be invoiced.
 */
export function paymentSetting(
  gateway: 'none' | 'sandbox' | 'razorpay',
  razorpay: {
    readonly keyId: string | null
    readonly keySecret: string | null
    readonly webhookSecrets: readonly string[] | null
    readonly url: string
  },
  hasGstFile: boolean,
  complain: (line: string) => void,
): PaymentSetting | null {
  if (gateway === 'none') return null
  if (gateway === 'sandbox') return { kind: 'sandbox' }
  const { keyId, keySecret, webhookSecrets: secrets, url } = razorpay
  const missing = (name: string, what: string) =>
    complain(`${name}: set ${what}, or another PARLEY_PAYMENT_GATEWAY`)
  if (keyId === null) missing('PARLEY_RAZORPAY_KEY_ID', 'the key id')
  if (keySecret === null) missing('PARLEY_RAZORPAY_KEY_SECRET', 'the secret of the key')
  if (secrets === null) missing('PARLEY_RAZORPAY_WEBHOOK_SECRETS', 'the secret of the webhook')
  if (!hasGstFile) missing('PARLEY_GST_FILE', 'the file that names the supplier of invoices')
  if (keyId === null || keySecret === null || secrets === null) return null
  return { kind: 'razorpay', keyId, keySecret, webhookSecrets: secrets, url }
}
