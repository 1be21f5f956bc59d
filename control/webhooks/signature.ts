import { createHmac } from 'node:crypto'

/**
 * One signature of a webhook body (contract 6.4): `v1=` and the hex HMAC-SHA256, keyed with the
 * UTF-8 of the whole secret, prefix included, over `<at>.<body>`. `at` is in Unix seconds.
 */
export function sign(body: string, secret: string, at: number): string {
  return `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`
}

/** The `x-svc-signature` header: one signature per active secret, the current one first. */
export function signatureHeader(body: string, secrets: readonly string[], at: number): string {
  return secrets.map((secret) => sign(body, secret, at)).join(' ')
}

export interface DeliveryStamp {
  readonly type: string
  readonly eventId: string
  /** 1 for the first attempt of a delivery. */
  readonly attempt: number
  /** Unix seconds. */
  readonly at: number
}

/** All headers of one attempt (contract 6.3). */
export function webhookHeaders(
  body: string,
  secrets: readonly string[],
  stamp: DeliveryStamp,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'Parley-Webhooks/1',
    'x-svc-timestamp': String(stamp.at),
    'x-svc-signature': signatureHeader(body, secrets, stamp.at),
    'x-svc-event': stamp.type,
    'x-svc-event-id': stamp.eventId,
    'x-svc-delivery-attempt': String(stamp.attempt),
  }
}
