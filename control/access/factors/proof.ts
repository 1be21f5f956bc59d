import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Deps } from '../../api/deps.js'
import { type Refusal, refuse, tooEarly } from '../../api/problem.js'
import { timestamp } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import type { FactorChallengeRow } from '../../db/tables/factors.js'
import { queueMail } from '../../mail/outbox.js'
import { throttle } from '../throttle.js'
import { recordAccountEvent, refusedCodesSince } from './account-events.js'
import { assertionOptions, checkAssertion } from './passkeys.js'
import { recoveryCodesLeft, recoveryHashes, useRecoveryCode } from './recovery-codes.js'
import { relyingParty } from './relying-party.js'
import {
  acceptCounter,
  acceptStep,
  countTry,
  insertChallenge,
  listFactors,
  MAX_TRIES,
  useChallenge,
} from './store.js'
import { openTotpSecret, totpStep } from './totp.js'

/** A proof of a second factor. Exactly one field is set. */
export interface Proof {
  /** Six digits of an authenticator app. */
  readonly code?: string | undefined
  readonly assertion?: AuthenticationResponseJSON | undefined
  readonly recoveryCode?: string | undefined
}

export type ProofKind = 'totp' | 'passkey' | 'recovery_code'

/** Marks a right proof as used. Returns false if it was used before. */
type UseUp = (trx: Trx, now: number) => Promise<boolean>

const TRIES_PER_MINUTE = 10
/**
 * Limit of the wrong codes of an account in a day. 30 tries at one of three valid codes succeed with a probability of
 * 90 in a million a day. A passkey cannot be guessed, so wrong passkeys do not count.
 */
export const WRONG_CODES_PER_DAY = 30
const DAY_MS = 24 * 3_600_000

/** Returns the refusal that asks for a proof of a second factor. `sessionId` is null at a sign-in. */
export async function askForProof(
  deps: Deps,
  userId: string,
  sessionId: string | null,
): Promise<Refusal<'mfa_required'>> {
  const { db, clock } = deps
  const challenge = await insertChallenge(db, userId, sessionId, clock.wall())
  const known = await listFactors(db, userId)
  const passkey = await assertionOptions(relyingParty(deps), challenge.challenge, known)
  const factors: ProofKind[] = [
    ...(known.some(({ kind }) => kind === 'totp') ? (['totp'] as const) : []),
    ...(passkey === null ? [] : (['passkey'] as const)),
    ...((await recoveryCodesLeft(db, userId)) > 0 ? (['recovery_code'] as const) : []),
  ]
  return refuse(
    'mfa_required',
    `Prove a second factor with POST /v1/auth/login/verify within 5 minutes. There are ${MAX_TRIES} tries.`,
    { challengeId: challenge.id, factors, passkey, expiresAt: timestamp(challenge.expiresAt) },
  )
}

/**
 * Checks a proof for a challenge and counts the try. A right proof ends the challenge, cannot be used again, and runs
 * `grant` in the same transaction.
 */
export async function proveFactor<T>(
  deps: Deps,
  challenge: FactorChallengeRow,
  proof: Proof,
  requestId: string,
  grant: (trx: Trx, kind: ProofKind, now: number) => Promise<T>,
): Promise<T | Refusal> {
  const { db, clock } = deps
  const { userId } = challenge
  const kind = kindOf(proof)
  const limited =
    (await throttle(deps, `second factor of ${userId}`, TRIES_PER_MINUTE)) ??
    (proof.assertion === undefined ? await refuseGuessing(deps, userId) : null)
  if (limited !== null) return limited
  const left = await countTry(db, challenge.id, clock.wall())
  if (left === null) return over()
  const useUp = await check(deps, challenge, proof)
  if (useUp === 'origin') {
    return refuse(
      'unprocessable_entity',
      `Passkeys work at ${relyingParty(deps)?.origin} only. Open the dashboard there.`,
      { path: 'assertion' },
    )
  }
  if (useUp !== null) {
    const now = clock.wall()
    const granted = await db.transaction().execute(async (trx): Promise<{ answer: T | Refusal } | null> => {
      if (!(await useUp(trx, now))) return null
      if (!(await useChallenge(trx, challenge.id, now))) return { answer: over() }
      if (kind === 'recovery_code') await mailAccount(trx, userId, 'recovery_code_used', now)
      const action = challenge.sessionId === null ? 'session.started' : 'session.proven'
      await recordAccountEvent(trx, { userId, action, kind, requestId }, now)
      return { answer: await grant(trx, kind, now) }
    })
    if (granted !== null) {
      if (kind === 'recovery_code') deps.mail.wake()
      return granted.answer
    }
  }
  await recordRefusal(deps, userId, kind, left, requestId)
  return refuse('invalid_credentials', 'The code or the passkey is wrong, or was used before.', {
    triesLeft: left,
  })
}

async function refuseGuessing({ db, clock }: Deps, userId: string): Promise<Refusal<'rate_limited'> | null> {
  const now = clock.wall()
  const refused = await refusedCodesSince(db, userId, now - DAY_MS)
  // The time at which enough of them are a day old for one more.
  const freeing = refused.at(-WRONG_CODES_PER_DAY)
  if (freeing === undefined) return null
  return tooEarly(
    'There were too many wrong codes in a day. Use a passkey, wait, or ask the operator to reset your second factors.',
    (freeing + DAY_MS - now) / 1000,
  )
}

/** Returns null if the proof is wrong. A recovery code is looked up only when it is marked as used. */
async function check(
  deps: Deps,
  { userId, challenge }: FactorChallengeRow,
  { code, assertion, recoveryCode }: Proof,
): Promise<UseUp | 'origin' | null> {
  const { db, rootKey, clock } = deps
  if (recoveryCode !== undefined) {
    const hashes = recoveryHashes(rootKey, userId, recoveryCode)
    if (hashes === null) return null
    return (trx, now) => useRecoveryCode(trx, userId, hashes, now)
  }
  const known = await listFactors(db, userId)
  if (code !== undefined) {
    for (const { id, sealed } of known) {
      if (sealed === null) continue
      const step = totpStep(openTotpSecret(rootKey, id, sealed), code, clock.wall())
      if (step !== null) return (trx, now) => acceptStep(trx, id, step, now)
    }
    return null
  }
  const party = relyingParty(deps)
  const passkey = known.find(({ credentialId }) => credentialId !== null && credentialId === assertion?.id)
  if (assertion === undefined || passkey === undefined || party === null) return null
  const checked = await checkAssertion(party, challenge, assertion, passkey)
  if (checked === 'origin') return 'origin'
  if (checked === 'wrong') return null
  return (trx, now) => acceptCounter(trx, passkey.id, checked.counter, now)
}

function over(): Refusal<'invalid_token'> {
  return refuse('invalid_token', 'This request for a proof is over. Start again.')
}

function kindOf({ code, assertion }: Proof): ProofKind {
  if (code !== undefined) return 'totp'
  return assertion === undefined ? 'recovery_code' : 'passkey'
}

/** Records a wrong proof. The owner of the account gets a mail when all tries of a challenge were wrong. */
async function recordRefusal(
  deps: Deps,
  userId: string,
  kind: ProofKind,
  triesLeft: number,
  requestId: string,
): Promise<void> {
  const now = deps.clock.wall()
  await deps.db.transaction().execute(async (trx) => {
    await recordAccountEvent(trx, { userId, action: 'second_factor.refused', kind, requestId }, now)
    if (triesLeft === 0) await mailAccount(trx, userId, 'refused', now)
  })
  if (triesLeft === 0) deps.mail.wake()
}

/** Queues a mail about the factors of an account to its address. Call `deps.mail.wake()` after the transaction. */
export async function mailAccount(
  trx: Trx,
  userId: string,
  change: 'added' | 'removed' | 'reset' | 'codes_made' | 'recovery_code_used' | 'refused',
  now: number,
): Promise<void> {
  const { email } = await trx
    .selectFrom('users')
    .where('id', '=', userId)
    .select('email')
    .executeTakeFirstOrThrow()
  await queueMail(trx, now, email, { kind: 'second_factor', change })
}
