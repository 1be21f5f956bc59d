import { createHash, createHmac } from 'node:crypto'
import type { Deps } from '../api/deps.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { SignatureScheme, SignedRequest } from '../api/signature-scheme.js'
import { constantTimeEqual } from '../base/crypto.js'
import type { Db } from '../db/database.js'

/** Largest accepted clock difference between the signer and this service (ms). */
export const MAX_SKEW_MS = 300_000
/**
 * Time for which an accepted signature is remembered against replay (ms). It exceeds the accepted clock
 * difference.
 */
export const REPLAY_WINDOW_MS = 600_000
/**
 * The same for schemes that sign no time (ms). Their events also need a permanent unique key of the operation.
 */
export const UNTIMED_REPLAY_WINDOW_MS = 7 * 86_400_000

/** An accepted signature. */
export interface AcceptedSignature {
  /** True if the request was accepted before. */
  readonly repeated: boolean
  /** Forgets the signature, so that the same request can be sent again. */
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
 * Returns the scheme of this service, which has the format of its webhooks: `x-svc-timestamp` in Unix seconds
 * and `x-svc-signature: v1=<hex>`, several separated by spaces. Without a secret nothing is accepted.
 */
export function ownScheme(secretOf: (deps: Deps) => string | null): SignatureScheme {
  return {
    repeats: 'refuse',
    verify({ header, body }, deps) {
      const secret = secretOf(deps)
      const timestamp = header('x-svc-timestamp')
      const signature = header('x-svc-signature')
      if (secret === null || signature === undefined || !/^\d{1,12}$/.test(timestamp ?? '')) return null
      const expected = signatureOf(secret, String(timestamp), body)
      // All signatures are compared, so that the time taken reveals nothing.
      const matches = signature.split(' ').filter((value) => constantTimeEqual(value, `v1=${expected}`))
      return matches.length === 0 ? null : { key: expected, signedAt: Number(timestamp) * 1000 }
    },
  }
}

/**
 * Verifies a signed request and remembers it. `sender` tells senders apart whose keys may coincide. Refuses
 * with `invalid_signature` when the scheme does not accept the signature, the time of signing differs by more
 * than `MAX_SKEW_MS`, or the scheme refuses repetitions and this is one.
 */
export async function acceptSignature(
  deps: Deps,
  scheme: SignatureScheme,
  sender: string,
  request: SignedRequest,
): Promise<AcceptedSignature | Refusal<'invalid_signature'>> {
  const valid = await scheme.verify(request, deps)
  if (valid === null) return wrong()
  const now = deps.clock.wall()
  if (valid.signedAt !== null && Math.abs(now - valid.signedAt) > MAX_SKEW_MS) return wrong()
  const { db } = deps
  const signature = createHash('sha256').update(`${sender} ${valid.key}`).digest('hex')
  const expiresAt = now + (valid.signedAt === null ? UNTIMED_REPLAY_WINDOW_MS : REPLAY_WINDOW_MS)
  const first = await db
    .insertInto('usedSignatures')
    .values({ signature, expiresAt })
    .onConflict((conflict) => conflict.column('signature').doNothing())
    .returning('signature')
    .executeTakeFirst()
  if (first === undefined) {
    return scheme.repeats === 'pass' ? { repeated: true, release: async () => {} } : wrong()
  }
  return {
    repeated: false,
    async release() {
      await db.deleteFrom('usedSignatures').where('signature', '=', signature).execute()
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
