import { createHmac } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import { type Refusal, refuse } from '../api/problem.js'
import { constantTimeEqual } from '../base/crypto.js'
import type { Db } from '../db/database.js'

/** Largest accepted clock difference between the signer and this service (ms). */
export const MAX_SKEW_MS = 300_000
/**
 * Time for which an accepted signature is remembered against replay (ms). It exceeds the accepted clock
 * difference.
 */
export const REPLAY_WINDOW_MS = 600_000

/** A signed request of another service. */
export interface SignedRequest {
  /** `x-svc-timestamp`: Unix seconds. */
  readonly timestamp: string | undefined
  /** `x-svc-signature`: `v1=<hex>`, several separated by spaces. */
  readonly signature: string | undefined
  readonly body: Uint8Array
}

/** An accepted signature. `release` forgets it, so that the same request can be sent again. */
export interface AcceptedSignature {
  release(): Promise<void>
}

/**
 * Returns hex HMAC-SHA256 over `<timestamp>.<raw body>`, keyed with the UTF-8 bytes of the secret. Webhooks
 * are signed in the same way.
 */
export function signatureOf(secret: string, timestamp: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
}

/**
 * Accepts a signed request once. Refuses with `invalid_signature` when no secret is set, the secret is
 * another one, the body was altered, the timestamp differs by more than `MAX_SKEW_MS`, or the signature was
 * used before.
 */
export async function acceptSignedRequest(
  { db, clock }: { db: Db; clock: Clock },
  secret: string | null,
  request: SignedRequest,
): Promise<AcceptedSignature | Refusal<'invalid_signature'>> {
  const { timestamp, signature } = request
  if (
    secret === null ||
    timestamp === undefined ||
    signature === undefined ||
    !/^\d{1,12}$/.test(timestamp)
  ) {
    return wrong()
  }
  const expected = signatureOf(secret, timestamp, request.body)
  // All signatures are compared, so that the time taken reveals nothing.
  const matches = signature.split(' ').filter((value) => constantTimeEqual(value, `v1=${expected}`))
  if (matches.length === 0) return wrong()
  const now = clock.wall()
  if (Math.abs(now - Number(timestamp) * 1000) > MAX_SKEW_MS) return wrong()
  const first = await db
    .insertInto('usedSignatures')
    .values({ signature: expected, expiresAt: now + REPLAY_WINDOW_MS })
    .onConflict((conflict) => conflict.column('signature').doNothing())
    .returning('signature')
    .executeTakeFirst()
  if (first === undefined) return wrong()
  return {
    async release() {
      await db.deleteFrom('usedSignatures').where('signature', '=', expected).execute()
    },
  }
}

/** Deletes signatures whose timestamp is no longer accepted. Returns their number. */
export async function sweepSignatures(db: Db, now: number): Promise<number> {
  const swept = await db.deleteFrom('usedSignatures').where('expiresAt', '<=', now).executeTakeFirst()
  return Number(swept.numDeletedRows)
}

function wrong(): Refusal<'invalid_signature'> {
  return refuse('invalid_signature', 'The signature is missing, invalid, too old or already used.')
}
