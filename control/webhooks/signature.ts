import { createHmac } from 'node:crypto'

/**
 * Returns one signature of a webhook body: `v1=` and the hex HMAC-SHA256 of `<at>.<body>`, keyed with the
 * UTF-8 bytes of the whole secret, including the prefix. `at` is in Unix seconds.
 */
export function sign(body: string, secret: string, at: number): string {
  return `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`
}

/** Returns the `x-svc-signature` header: one signature per valid secret, the current one first. */
export function signatureHeader(body: string, secrets: readonly string[], at: number): string {
  return secrets.map((secret) => sign(body, secret, at)).join(' ')
}

export interface DeliveryStamp {
  readonly type: string
  readonly eventId: string
  /** Number of the attempt, starting at 1. */
  readonly attempt: number
  /** Unix time (s). */
  readonly at: number
}

/** Returns all headers of one attempt. */
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
