import { createHmac, timingSafeEqual } from 'node:crypto'
import type { EventData, Open } from './generated/types.js'

/** An event as it was delivered. Deduplicate by `id`; ignore types you do not know. */
export interface WebhookEvent<Type extends string = string> {
  readonly id: string
  readonly type: Type
  /** Null for what concerns both environments. */
  readonly environment: Open<'test' | 'live'> | null
  readonly created_at: string
  readonly data: Type extends keyof EventData ? EventData[Type] : Readonly<Record<string, unknown>>
  readonly links: Readonly<Record<string, string>>
}

/** An event of the catalogue, told apart by `type`. */
export type KnownEvent = { [Type in keyof EventData]: WebhookEvent<Type> }[keyof EventData]

export interface WebhookDelivery {
  /** The body as received: parsing and serializing again changes it. */
  readonly body: string | Uint8Array
  /** `x-svc-timestamp`. */
  readonly timestamp: string | null | undefined
  /** `x-svc-signature`. */
  readonly signature: string | null | undefined
}

export interface VerifyOptions {
  /** How old, or how far in the future, a delivery may be; default 300. */
  readonly toleranceSeconds?: number
  /** Unix ms; replaced in tests. */
  readonly now?: () => number
}

/** Why a delivery was not believed. */
export class WebhookSignatureError extends Error {
  override readonly name = 'WebhookSignatureError'
}

/**
 * The event of a delivery that was signed with one of the secrets (several while one is rolled).
 * Throws WebhookSignatureError otherwise: then answer 400 and do nothing. Takes the same time
 * whatever is wrong with the signature.
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  delivery: WebhookDelivery,
  { toleranceSeconds = 300, now = Date.now }: VerifyOptions = {},
): WebhookEvent | KnownEvent {
  const { body, timestamp, signature } = delivery
  if (timestamp === null || timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookSignatureError('The delivery has no usable x-svc-timestamp.')
  }
  if (signature === null || signature === undefined) {
    throw new WebhookSignatureError('The delivery has no x-svc-signature.')
  }
  const expected = [secrets].flat().map((secret) => signWebhook(secret, timestamp, body))
  const given = signature.split(' ').filter((value) => value !== '')
  let matches = 0
  for (const value of given) {
    for (const one of expected) matches += same(value, one) ? 1 : 0
  }
  if (matches === 0) throw new WebhookSignatureError('The signature is not that of any secret.')
  const age = Math.abs(now() / 1000 - Number(timestamp))
  if (age > toleranceSeconds) {
    throw new WebhookSignatureError(`The delivery is ${Math.round(age)} s away from now.`)
  }
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
}

/** Tells whether an event is of a type of the catalogue; its `data` is then typed. */
export function isEvent<Type extends keyof EventData>(
  event: WebhookEvent | KnownEvent,
  type: Type,
): event is WebhookEvent<Type> {
  return event.type === type
}

/** `v1=` and the hexadecimal HMAC-SHA256 over `<timestamp>.<body>`, keyed with the whole secret. */
export function signWebhook(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
