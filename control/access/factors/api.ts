import { z } from 'zod'
import type { Deps } from '../../api/deps.js'
import { listOperation, operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../../api/problem.js'
import { withHeaders } from '../../api/reply.js'
import { timestamp, timestampOrNull } from '../../base/schemas.js'
import type { AccountEventRow, FactorChallengeRow, SecondFactorRow } from '../../db/tables/factors.js'
import { assignMissingSandboxNumbers } from '../../numbers/sandbox-number.js'
import { SessionRecord } from '../accounts/schemas.js'
import { SESSION_COOKIE, signInCookies } from '../sessions/cookies.js'
import { newDevice } from '../sessions/known-device.js'
import { sessionRecord, userOf } from '../sessions/session-record.js'
import { createSession, findSession, proveSession, type Session } from '../sessions/sessions.js'
import { listAccountEvents } from './account-events.js'
import { beginFactor, confirmPendingFactor, removeFactor, renewRecoveryCodes } from './enrol.js'
import { type Proof, proveFactor } from './proof.js'
import { recoveryCodesLeft } from './recovery-codes.js'
import { relyingParty } from './relying-party.js'
import {
  ConfirmBody,
  Factor,
  FactorName,
  FactorPath,
  PendingFactor,
  ProofBody,
  RecoveryCodes,
  SecurityEvent,
} from './schemas.js'
import { findChallenge, listFactors } from './store.js'

const TAG = 'Sign-up and session'
/** The answer of a passkey contains certificates. */
const PROOF_LIMITS = { bodyBytes: 64 * 1024, bodyValues: 200 }

export const verifyLogin = operation({
  id: 'verifyLogin',
  method: 'post',
  path: '/v1/auth/login/verify',
  tag: TAG,
  summary: 'Verify a second factor',
  description:
    'Ends what an answer with the code mfa_required began: details.challengeId and one of the proofs in details.factors. At a sign-in it starts the session and sets its cookies. If a change in a session asked for the proof, the request needs the cookie of that session; repeat the change within 10 minutes.',
  audience: 'public',
  perMinute: 30,
  limits: PROOF_LIMITS,
  body: ProofBody,
  status: 200,
  result: SessionRecord,
  fails: ['invalid_token', 'token_expired', 'invalid_credentials', 'unprocessable_entity', 'rate_limited'],
  run: async ({ body, deps, cookie, requestId }) => {
    const { challengeId, ...proof } = body
    const challenge = await findChallenge(deps.db, challengeId)
    if (challenge === null) {
      return refuse('invalid_token', 'There is no such request for a proof. Sign in again.')
    }
    if (challenge.expiresAt <= deps.clock.wall()) {
      return refuse('token_expired', 'The time for the proof is over. Start again.')
    }
    return challenge.sessionId === null
      ? startSession(deps, challenge, proof, requestId)
      : stepUp(deps, challenge, proof, requestId, cookie(SESSION_COOKIE))
  },
})

export const readFactors = operation({
  id: 'readFactors',
  method: 'get',
  path: '/v1/auth/factors',
  tag: TAG,
  summary: 'Get the second factors of the account',
  description: 'Confirmed factors, oldest first, and the number of recovery codes that were not used.',
  audience: 'account',
  status: 200,
  result: z.object({
    factors: z.array(Factor),
    recoveryCodesLeft: z.int(),
    passkeyOrigin: z.string().nullable().meta({
      description: 'Origin at which passkeys can be added and used. Null if there is none.',
    }),
  }),
  fails: [],
  run: async ({ actor, deps }) => ({
    factors: (await listFactors(deps.db, actor.userId)).map(factorView),
    recoveryCodesLeft: await recoveryCodesLeft(deps.db, actor.userId),
    passkeyOrigin: relyingParty(deps)?.origin ?? null,
  }),
})

export const addFactor = operation({
  id: 'addFactor',
  method: 'post',
  path: '/v1/auth/factors',
  tag: TAG,
  summary: 'Add a second factor',
  description:
    'An authenticator app (totp, RFC 6238) or a passkey (WebAuthn). It counts once it is confirmed, within 10 minutes. An account that has a factor proves it first, unless the session did so in the last 10 minutes.',
  audience: 'account',
  body: z.strictObject({ kind: z.enum(['totp', 'passkey']), name: FactorName.optional() }),
  status: 201,
  result: PendingFactor,
  fails: ['mfa_required', 'unprocessable_entity', 'conflict', 'rate_limited'],
  run: async ({ body, ...input }) => {
    const begun = await beginFactor(input, { kind: body.kind, name: body.name })
    if (isRefusal(begun)) return begun
    const { row, totp, passkey } = begun
    const { id, kind, name, expiresAt } = row
    return {
      id,
      kind,
      name,
      expiresAt: timestamp(expiresAt ?? row.createdAt),
      totp,
      passkey: passkey && { ...passkey },
    }
  },
})

export const confirmFactor = operation({
  id: 'confirmFactor',
  method: 'post',
  path: '/v1/auth/factors/:id/confirm',
  tag: TAG,
  summary: 'Confirm a second factor',
  description:
    'Takes the first code of the authenticator app, or the passkey that the browser made. With the first factor of the account come ten recovery codes, which are shown once, and all other sessions of the user end.',
  audience: 'account',
  params: FactorPath,
  limits: PROOF_LIMITS,
  body: ConfirmBody,
  status: 200,
  result: z.object({ factor: Factor, recoveryCodes: RecoveryCodes.nullable() }),
  fails: ['not_found', 'unprocessable_entity', 'conflict', 'rate_limited'],
  run: async ({ params, body, ...input }) => {
    const done = await confirmPendingFactor(input, params.id, body)
    if (isRefusal(done)) return done
    const { factor, recoveryCodes } = done
    return { factor: factorView(factor), recoveryCodes: recoveryCodes && [...recoveryCodes] }
  },
})

export const deleteFactor = operation({
  id: 'deleteFactor',
  method: 'delete',
  path: '/v1/auth/factors/:id',
  tag: TAG,
  summary: 'Remove a second factor',
  description:
    'The first answer is mfa_required. Give the proof that it asks for, then repeat the request within 10 minutes. The last factor stays if the account is of staff or an organization of the user requires one. Without a factor there are no recovery codes.',
  audience: 'account',
  params: FactorPath,
  status: 204,
  fails: ['mfa_required', 'not_found', 'conflict'],
  run: ({ params, ...input }) => removeFactor(input, params.id),
})

export const createRecoveryCodes = operation({
  id: 'createRecoveryCodes',
  method: 'post',
  path: '/v1/auth/recovery-codes',
  tag: TAG,
  summary: 'Replace the recovery codes',
  description:
    'Makes ten new recovery codes; the earlier ones stop working. The first answer is mfa_required. Give the proof that it asks for, then repeat the request within 10 minutes.',
  audience: 'account',
  status: 201,
  result: z.object({ recoveryCodes: RecoveryCodes }),
  fails: ['mfa_required', 'conflict'],
  run: async (input) => {
    const codes = await renewRecoveryCodes(input)
    return isRefusal(codes) ? codes : { recoveryCodes: [...codes] }
  },
})

export const listSecurityEvents = listOperation({
  id: 'listSecurityEvents',
  path: '/v1/auth/events',
  tag: TAG,
  summary: 'List the security events of the account',
  description: 'Changes of second factors, sign-ins with them and refused proofs, newest first.',
  audience: 'account',
  result: SecurityEvent,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listAccountEvents(deps.db, actor.userId, page)
    return { items: items.map(eventView), next }
  },
})

export const listStaffSecurityEvents = listOperation({
  id: 'listStaffSecurityEvents',
  path: '/v1/staff/security-events',
  tag: 'Staff',
  summary: 'List the security events of staff',
  description: 'Security events of all accounts of staff, newest first.',
  audience: 'staff',
  result: SecurityEvent,
  fails: [],
  run: async ({ deps, page }) => {
    const { items, next } = await listAccountEvents(deps.db, null, page)
    return { items: items.map(eventView), next }
  },
})

export const factorOperations = [
  verifyLogin,
  readFactors,
  addFactor,
  confirmFactor,
  deleteFactor,
  createRecoveryCodes,
  listSecurityEvents,
  listStaffSecurityEvents,
]

async function startSession(deps: Deps, challenge: FactorChallengeRow, proof: Proof, requestId: string) {
  const { userId } = challenge
  const now = deps.clock.wall()
  // Before the proof, which works once: what fails after it would cost the person a code.
  const user = await userOf(deps, userId)
  await assignMissingSandboxNumbers(deps.db, userId, now)
  const session = await proveFactor(deps, challenge, proof, requestId, (trx) =>
    createSession(trx, deps, userId, true),
  )
  if (isRefusal(session)) return session
  const record = await sessionRecord(deps, user, { ...session, factorAt: now })
  const known = newDevice(deps.rootKey, user.email, now)
  return withHeaders(record, signInCookies(deps.publicUrl(), session.token, record.csrfToken, known))
}

/** Proves a factor in the session that asked for it. */
async function stepUp(
  deps: Deps,
  challenge: FactorChallengeRow,
  proof: Proof,
  requestId: string,
  token: string | null,
) {
  const session = token === null ? null : await findSession(deps, token)
  if (session === null || session.id !== challenge.sessionId) {
    return refuse('invalid_token', 'The proof was asked for in another session.')
  }
  const proven = await proveFactor(
    deps,
    challenge,
    proof,
    requestId,
    async (trx, _kind, now): Promise<Session | Refusal> => {
      await proveSession(trx, session.id, true, now)
      return { ...session, factorAt: now, steppedUpAt: now }
    },
  )
  if (isRefusal(proven)) return proven
  return sessionRecord(deps, await userOf(deps, session.userId), proven)
}

function factorView({ id, kind, name, createdAt, lastUsedAt }: SecondFactorRow): z.input<typeof Factor> {
  return { id, kind, name, createdAt: timestamp(createdAt), lastUsedAt: timestampOrNull(lastUsedAt) }
}

function eventView(row: AccountEventRow & { readonly email: string }): z.input<typeof SecurityEvent> {
  const { id, userId, email, actorType: actor, action, kind, name, createdAt } = row
  return { id, userId, email, actor, action, kind, name, createdAt: timestamp(createdAt) }
}
