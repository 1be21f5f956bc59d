import { EngineError, errorText } from '../../media/base/errors.js'
import { throttle } from '../access/throttle.js'
import type { Deps } from '../api/deps.js'
import { type Refusal, refuse } from '../api/problem.js'
import { istDate } from '../base/ist.js'
import { writeAddressToken } from '../base/signed-address.js'
import type { Billing } from '../billing/billing-details.js'
import { gstOn, rateAt } from '../billing/gst.js'
import type { Trx } from '../db/database.js'
import type { TopupRow } from '../db/tables/payments.js'
import type { Recipient } from '../invoices/issue.js'
import { addJobs } from '../jobs/store.js'
import { readOrganizationRows } from '../organization/profile-store.js'
import { addPoll, FIRST_CHECK_MS, TOPUP_CHECK } from './check-job.js'
import { findTopup, insertTopup, updateTopup } from './topup-store.js'

/** Limits of a top-up: 100 rupees and 5 lakh rupees, without tax (paise). */
export const MIN_TOPUP_PAISE = 10_000
export const MAX_TOPUP_PAISE = 50_000_000
/** Time for which the checkout page accepts a payment (ms). */
const CHECKOUT_MS = 24 * 3_600_000
const TOPUPS_PER_MINUTE = 10

type StartRefusal = Refusal<'billing_details_required' | 'provider_unavailable' | 'rate_limited'>

/**
 * Makes a top-up and its order at the gateway. Tax and recipient are fixed now, so that the amount to pay is the
 * one that is invoiced. Without an order nothing can be paid: such a top-up has failed. `keep` is called last in the
 * transaction that stores the order.
 */
export async function startTopup(
  deps: Pick<Deps, 'db' | 'clock' | 'payments' | 'settings' | 'log' | 'rootKey'>,
  actor: { readonly organizationId: string; readonly userId: string },
  amountPaise: number,
  keep: (trx: Trx, topup: TopupRow) => Promise<unknown>,
): Promise<TopupRow | StartRefusal> {
  const { db, clock, payments, settings, log } = deps
  const { organizationId } = actor
  if (payments === null) {
    return gatewayUnavailable(
      'This installation has no payment gateway. Ask the operator for a credit.',
      'none',
    )
  }
  const stored = await readOrganizationRows(db, organizationId)
  if (stored === null) throw new EngineError('internal', 'the organization of a session does not exist')
  const { profile } = stored
  const { gst } = settings
  const now = clock.wall()
  const today = istDate(now)
  const billing = {
    name: profile.billingName,
    address: profile.billingAddress,
    city: profile.billingCity,
    pincode: profile.billingPincode,
    stateCode: profile.billingStateCode,
    gstin: profile.billingGstin,
    sez: profile.billingSez === 1,
  }
  const recipient = recipientOf(billing, gst.eInvoicesFrom !== null && today >= gst.eInvoicesFrom)
  if ('missing' in recipient) {
    return refuse(
      'billing_details_required',
      `Set ${recipient.missing.join(', ')} in the billing details of the organization first.`,
      { missing: recipient.missing },
    )
  }
  const limited = await throttle(deps, `startTopup ${organizationId}`, TOPUPS_PER_MINUTE)
  if (limited !== null) return limited
  const rate = rateAt(gst.rates, today)
  if (rate === null) throw new EngineError('config_invalid', 'PARLEY_GST_FILE: no rate is in force yet')
  const tax = gstOn(amountPaise, {
    ratePercent: rate.ratePercent,
    supplierState: gst.supplier.stateCode,
    placeOfSupply: recipient.stateCode,
    sez: billing.sez,
  })
  const topup = await insertTopup(
    db,
    {
      ...{ organizationId, gateway: payments.id, amountPaise, tax, rate, recipient },
      createdBy: actor.userId,
      expiresAt: now + CHECKOUT_MS,
    },
    now,
  )
  try {
    const gatewayRef = await payments.openOrder({ receipt: topup.id, payablePaise: topup.payablePaise })
    const opened = { ...topup, gatewayRef }
    await db.transaction().execute(async (trx) => {
      await updateTopup(trx, topup.id, { gatewayRef })
      await addPoll(trx, topup.id, now + FIRST_CHECK_MS, now)
      await keep(trx, opened)
    })
    return opened
  } catch (error) {
    if (!(error instanceof EngineError) || !error.code.startsWith('vendor_')) throw error
    log.warn({ topupId: topup.id, error: errorText(error) }, 'payment.order_failed')
    await db.transaction().execute((trx) => updateTopup(trx, topup.id, { status: 'failed' }))
    return gatewayUnavailable('The payment gateway cannot be reached. Try again in a minute.', payments.id)
  }
}

/** Returns a 503 refusal: the payment gateway is not configured or does not answer. */
export function gatewayUnavailable(message: string, provider: string): Refusal<'provider_unavailable'> {
  return refuse('provider_unavailable', message, { provider }, { 'retry-after': '60' })
}

/** Returns the address of the checkout page. */
export function checkoutUrl(
  { rootKey, publicUrl }: Pick<Deps, 'rootKey' | 'publicUrl'>,
  topup: TopupRow,
): string {
  const grant = { subject: topup.id, expiresAt: topup.expiresAt }
  return `${publicUrl()}/pay/${writeAddressToken(rootKey, 'checkout', grant)}`
}

/** Asks the gateway about a top-up soon, because its state may have changed. `why` tells requests apart. */
export async function checkSoon(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  topupId: string,
  why: string,
  payload = 'once',
): Promise<void> {
  const now = clock.wall()
  const id = `${TOPUP_CHECK}:${topupId}:${why}`
  if ((await findTopup(db, topupId)) === null) return
  await addJobs(db, [{ id, kind: TOPUP_CHECK, lane: topupId, dueAt: now, payload }], now)
}

/**
 * Place of supply is the recipient's state, so that name, address and state are needed for any document. An e-invoice, which
 * only registered recipients get, also names city and PIN code.
 */
function recipientOf(
  billing: Billing,
  eInvoices: boolean,
): Recipient | { readonly missing: readonly string[] } {
  const { name, address, stateCode, city, pincode, gstin } = billing
  const more = eInvoices && gstin !== null ? { city, pincode } : {}
  const missing = Object.entries({ name, address, stateCode, ...more }).flatMap(([field, value]) =>
    value === null ? [field] : [],
  )
  if (name === null || address === null || stateCode === null || missing.length > 0) return { missing }
  return { ...billing, name, address, stateCode }
}
