import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { AccountActor } from '../../api/actor.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal, type Refusal, refuse } from '../../api/problem.js'
import type { Trx } from '../../db/database.js'
import type { FactorKind, SecondFactorRow } from '../../db/tables/factors.js'
import { userOf } from '../sessions/session-record.js'
import { endUserSessions, proveSession, unproveSessions } from '../sessions/sessions.js'
import { throttle } from '../throttle.js'
import { recordAccountEvent } from './account-events.js'
import { checkRegistration, registrationOptions } from './passkeys.js'
import { askForProof, mailAccount } from './proof.js'
import { deleteRecoveryCodes, recoveryCodesLeft, replaceRecoveryCodes } from './recovery-codes.js'
import { relyingParty } from './relying-party.js'
import {
  type Confirmation,
  confirmFactor,
  deleteFactor,
  findPendingFactor,
  insertPendingFactor,
  listFactors,
  lockAccount,
  MAX_FACTORS,
} from './store.js'
import { newTotpSecret, openTotpSecret, totpStep, totpUri } from './totp.js'

/** The account whose factors change, and the request that changes them. */
export interface FactorInput {
  readonly actor: AccountActor
  readonly deps: Deps
  readonly requestId: string
}

/**
 * Time (ms) in which a proof at the sign-in allows to add a factor, and a proof for a change allows further changes.
 */
const FRESH_MS = 10 * 60_000
const CONFIRMATIONS_PER_MINUTE = 10

/**
 * Asks for a proof unless the session has one of the last ten minutes. With `asked` the proof of the sign-in does not
 * count: an open browser must not suffice to remove a factor.
 */
export async function refuseStale(
  { actor, deps }: FactorInput,
  asked: boolean,
): Promise<Refusal<'mfa_required'> | null> {
  const provenAt = asked ? actor.steppedUpAt : actor.factorAt
  if (provenAt !== null && provenAt > deps.clock.wall() - FRESH_MS) return null
  return askForProof(deps, actor.userId, actor.sessionId)
}

/** Begins to add a factor. An account that has a factor proves it first. */
export async function beginFactor(
  input: FactorInput,
  wanted: { kind: FactorKind; name: string | undefined },
) {
  const { actor, deps } = input
  const { userId } = actor
  const { kind } = wanted
  const limited = await throttle(deps, `new factor of ${userId}`, CONFIRMATIONS_PER_MINUTE)
  if (limited !== null) return limited
  const party = relyingParty(deps)
  if (kind === 'passkey' && party === null) {
    return refuse(
      'unprocessable_entity',
      'Passkeys need https and a host name, which the operator sets (PARLEY_DASHBOARD_URL, PARLEY_PUBLIC_URL).',
      { path: 'kind' },
    )
  }
  const user = await userOf(deps, userId)
  const known = await listFactors(deps.db, userId)
  if (known.length > 0) {
    const stale = await refuseStale(input, false)
    if (stale !== null) return stale
  }
  if (known.length >= MAX_FACTORS) return tooMany()
  const now = deps.clock.wall()
  const name = wanted.name ?? (kind === 'totp' ? 'Authenticator app' : 'Passkey')
  const insert = (factor: Parameters<typeof insertPendingFactor>[3]) =>
    deps.db.transaction().execute((trx) => insertPendingFactor(trx, deps.rootKey, userId, factor, now))
  if (kind === 'passkey' && party !== null) {
    const passkey = await registrationOptions(party, user, known)
    const row = await insert({ kind, name, challenge: passkey.challenge })
    return { row, totp: null, passkey }
  }
  const secret = newTotpSecret()
  const row = await insert({ kind: 'totp', name, secret })
  return { row, totp: { secret, uri: totpUri(secret, user.email) }, passkey: null }
}

/**
 * Confirms a factor with its first code or answer. The first factor of an account makes recovery codes, and ends the
 * other sessions, in which no factor was proven.
 */
export async function confirmPendingFactor(
  { actor, deps, requestId }: FactorInput,
  id: string,
  given: { readonly code?: string | undefined; readonly attestation?: RegistrationResponseJSON | undefined },
): Promise<{ readonly factor: SecondFactorRow; readonly recoveryCodes: readonly string[] | null } | Refusal> {
  const { db, rootKey, clock } = deps
  const { userId, sessionId } = actor
  const limited = await throttle(deps, `new factor of ${userId}`, CONFIRMATIONS_PER_MINUTE)
  if (limited !== null) return limited
  const pending = await findPendingFactor(db, userId, id, clock.wall())
  if (pending === null) return noPending()
  const proof = await checkFirst(deps, pending, given)
  if (isRefusal(proof)) return proof
  const now = clock.wall()
  const done = await db.transaction().execute(async (trx) => {
    await lockAccount(trx, userId)
    const known = await listFactors(trx, userId)
    if (known.length >= MAX_FACTORS) return tooMany()
    const factor = await confirmFactor(trx, id, proof, now)
    if (factor === null) return noPending()
    if (known.length === 0) await endUserSessions(trx, userId, sessionId)
    await proveSession(trx, sessionId, false, now)
    const { kind, name } = factor
    await recordAccountEvent(trx, { userId, action: 'second_factor.added', kind, name, requestId }, now)
    await mailAccount(trx, userId, 'added', now)
    const some = known.length > 0 && (await recoveryCodesLeft(trx, userId)) > 0
    return { factor, recoveryCodes: some ? null : await replaceRecoveryCodes(trx, rootKey, userId, now) }
  })
  if (!isRefusal(done)) deps.mail.wake()
  return done
}

/** Removes a factor. Refuses to remove the last one of staff, and of a member of an organization that requires one. */
export async function removeFactor(input: FactorInput, id: string): Promise<undefined | Refusal> {
  const { actor, deps, requestId } = input
  const { userId } = actor
  const unknown = () => refuse('not_found', 'Your account has no such second factor.')
  if (!(await listFactors(deps.db, userId)).some((factor) => factor.id === id)) return unknown()
  const stale = await refuseStale(input, true)
  if (stale !== null) return stale
  const now = deps.clock.wall()
  const refusal = await deps.db.transaction().execute(async (trx): Promise<Refusal | undefined> => {
    await lockAccount(trx, userId)
    const known = await listFactors(trx, userId)
    const factor = known.find((one) => one.id === id)
    if (factor === undefined) return unknown()
    if (known.length === 1) {
      const demanding = await demandsFactor(trx, userId)
      if (demanding) {
        return refuse(
          'conflict',
          'Your account needs a second factor. Add another one before you remove this one.',
        )
      }
      await deleteRecoveryCodes(trx, userId)
      await unproveSessions(trx, userId)
    }
    await deleteFactor(trx, id)
    const { kind, name } = factor
    await recordAccountEvent(trx, { userId, action: 'second_factor.removed', kind, name, requestId }, now)
    await mailAccount(trx, userId, 'removed', now)
    return undefined
  })
  if (refusal === undefined) deps.mail.wake()
  return refusal
}

/** Replaces the recovery codes of an account that has a factor. Returns the new ones. */
export async function renewRecoveryCodes(input: FactorInput): Promise<readonly string[] | Refusal> {
  const { actor, deps, requestId } = input
  const { userId } = actor
  if ((await listFactors(deps.db, userId)).length === 0) return noFactor()
  const stale = await refuseStale(input, true)
  if (stale !== null) return stale
  const now = deps.clock.wall()
  const codes = await deps.db.transaction().execute(async (trx) => {
    await lockAccount(trx, userId)
    if ((await listFactors(trx, userId)).length === 0) return noFactor()
    await recordAccountEvent(trx, { userId, action: 'recovery_codes.made', requestId }, now)
    await mailAccount(trx, userId, 'codes_made', now)
    return replaceRecoveryCodes(trx, deps.rootKey, userId, now)
  })
  if (!isRefusal(codes)) deps.mail.wake()
  return codes
}

async function checkFirst(
  deps: Deps,
  { id, kind, sealed, challenge }: SecondFactorRow,
  given: { readonly code?: string | undefined; readonly attestation?: RegistrationResponseJSON | undefined },
): Promise<Confirmation | Refusal<'unprocessable_entity'>> {
  const wrong = (message: string, path: string) => refuse('unprocessable_entity', message, { path })
  if (kind === 'totp' && sealed !== null) {
    if (given.code === undefined) return wrong('Send the code that the authenticator app shows.', 'code')
    const step = totpStep(openTotpSecret(deps.rootKey, id, sealed), given.code, deps.clock.wall())
    return step === null
      ? wrong(
          'The code is wrong. Check the clock of the device, and send the code that it shows now.',
          'code',
        )
      : { step }
  }
  const party = relyingParty(deps)
  if (given.attestation === undefined || challenge === null || party === null) {
    return wrong('Send the passkey that the browser made.', 'attestation')
  }
  const checked = await checkRegistration(party, challenge, given.attestation)
  if (checked === 'origin') {
    return wrong(`Passkeys work at ${party.origin} only. Open the dashboard there.`, 'attestation')
  }
  if (checked === 'wrong')
    return wrong('The passkey does not answer this registration. Start again.', 'attestation')
  const known = await deps.db
    .selectFrom('secondFactors')
    .where('credentialId', '=', checked.credentialId)
    .select('id')
    .executeTakeFirst()
  return known === undefined ? checked : wrong('This passkey was added before.', 'attestation')
}

/** Returns whether the account must keep a second factor. */
async function demandsFactor(trx: Trx, userId: string): Promise<boolean> {
  const { staff } = await trx
    .selectFrom('users')
    .where('id', '=', userId)
    .select('staff')
    .executeTakeFirstOrThrow()
  if (staff === 1) return true
  const demanding = await trx
    .selectFrom('members as m')
    .innerJoin('organizationProfiles as p', 'p.organizationId', 'm.organizationId')
    .where('m.userId', '=', userId)
    .where('p.requireSecondFactor', '=', 1)
    .select('m.organizationId')
    .limit(1)
    .executeTakeFirst()
  return demanding !== undefined
}

function noPending(): Refusal<'not_found'> {
  return refuse('not_found', 'There is no such factor that waits for its confirmation. Add it again.')
}

function noFactor(): Refusal<'conflict'> {
  return refuse('conflict', 'Recovery codes belong to a second factor. Add one first.')
}

function tooMany(): Refusal<'conflict'> {
  return refuse('conflict', `An account can have ${MAX_FACTORS} second factors. Remove one first.`)
}
