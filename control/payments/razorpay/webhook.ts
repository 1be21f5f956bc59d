import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { parseForeignJson } from '../../../media/base/foreign-text.js'
import type { GatewayNotice } from '../../api/payment-gateway.js'
import type { SignatureScheme } from '../../api/signature-scheme.js'
import { constantTimeEqual } from '../../base/crypto.js'

/*
 * Events and returns of Razorpay: https://razorpay.com/docs/webhooks/validate-test/ and
 * https://razorpay.com/docs/payments/payment-gateway/web-integration/hosted/integration-steps/
 */

/** Returns hex HMAC-SHA256, keyed with the UTF-8 bytes of the secret. */
export function razorpaySignature(secret: string, signed: string | Buffer): string {
  return createHmac('sha256', secret).update(signed).digest('hex')
}

/**
 * Signs the raw body, with the secret that was valid at the first attempt. Razorpay signs no time and repeats an event
 * for a day; the signature of the body, unlike the header with the event's id, is proof of which event it is.
 */
export const razorpayScheme: SignatureScheme = {
  repeats: 'pass',
  verify({ header, body }, { settings }) {
    if (settings.payments?.kind !== 'razorpay') return null
    const given = header('x-razorpay-signature') ?? ''
    // All secrets are compared, so that the time taken reveals nothing.
    const matches = settings.payments.webhookSecrets.filter((secret) =>
      constantTimeEqual(given, razorpaySignature(secret, body)),
    )
    return matches.length === 0 ? null : { key: given, signedAt: null }
  },
}

/** Returns true if the gateway signed the return of the browser for this order. It proves the ids only. */
export function isSignedReturn(
  keySecret: string,
  orderId: string,
  fields: ReadonlyMap<string, string>,
): boolean {
  const expected = razorpaySignature(keySecret, `${orderId}|${fields.get('razorpay_payment_id') ?? ''}`)
  return constantTimeEqual(fields.get('razorpay_signature') ?? '', expected)
}

const Event = z.object({
  event: z.string().max(100),
  payload: z.object({
    payment: z.object({ entity: z.object({ order_id: z.string().nullable() }) }).optional(),
    order: z.object({ entity: z.object({ id: z.string() }) }).optional(),
    dispute: z.object({ entity: z.object({ id: z.string() }) }).optional(),
  }),
})

/**
 * Reads what an event is about. The order comes from the payment: events of payment links name the order without its
 * prefix.
 */
export function readRazorpayNotice(body: Buffer): GatewayNotice | null {
  let json: unknown
  try {
    json = parseForeignJson(body.toString('utf8'))
  } catch {
    return null
  }
  const parsed = Event.safeParse(json)
  if (!parsed.success) return null
  const { event, payload } = parsed.data
  return {
    type: event,
    orderRef: payload.payment?.entity.order_id ?? payload.order?.entity.id ?? null,
    disputeId: payload.dispute?.entity.id ?? null,
  }
}
