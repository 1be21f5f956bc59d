import { z } from 'zod'
import type { Deps } from '../../api/deps.js'
import { operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../../api/problem.js'
import { withHeaders } from '../../api/reply.js'
import { invalidateMailTokens, readMailToken, useMailToken } from '../../mail/mail-tokens.js'
import { queueMail } from '../../mail/outbox.js'
import { assignMissingSandboxNumbers } from '../../numbers/sandbox-number.js'
import {
  Accepted,
  KnownEmail,
  MailedToken,
  NewPassword,
  Password,
  SessionRecord,
} from '../accounts/schemas.js'
import { findUserByEmail, markEmailVerified, setPassword, type User } from '../accounts/store.js'
import { askForProof } from '../factors/proof.js'
import { hasFactor, lockAccount } from '../factors/store.js'
import { throttle } from '../throttle.js'
import { DEVICE_COOKIE, hiddenCookie, signInCookies, signOutCookies } from './cookies.js'
import { DEVICE_LIFE_MS, knownDevice, newDevice } from './known-device.js'
import { sessionRecord, userOf } from './session-record.js'
import { createSession, endSession, endUserSessions } from './sessions.js'

/**
 * Attempts per minute: of an account over all addresses, of a browser that the account used before, and in a
 * session.
 */
const GUESSES_PER_MINUTE = 10

export const logIn = operation({
  id: 'logIn',
  method: 'post',
  path: '/v1/auth/login',
  tag: 'Sign-up and session',
  summary: 'Sign in',
  description:
    'Sets the cookies svc_session and svc_csrf. The cookie svc_device gives this browser sign-in attempts of its own. An account with a second factor gets the code mfa_required instead: details.challengeId, details.factors (totp, passkey, recovery_code), details.passkey (options for the browser, or null) and details.expiresAt. POST /v1/auth/login/verify then starts the session.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ email: KnownEmail, password: Password }),
  status: 200,
  result: SessionRecord,
  fails: ['invalid_credentials', 'mfa_required', 'email_not_verified', 'rate_limited', 'internal_error'],
  run: async ({ body, deps, cookie }) => {
    const { email, password } = body
    const device = knownDevice(deps.rootKey, email, cookie(DEVICE_COOKIE), deps.clock.wall())
    const attempts = device === null ? `password ${email}` : `password at ${device}`
    const user = await checkPassword(deps, attempts, email, password)
    if (isRefusal(user)) return user
    if (user.emailVerifiedAt === null) {
      return refuse(
        'email_not_verified',
        'Verify your email address first, with the link that was mailed to you.',
      )
    }
    const now = deps.clock.wall()
    await assignMissingSandboxNumbers(deps.db, user.id, now)
    // With the account locked: a first factor that is confirmed at this moment ends all other sessions, this one too.
    const session = await deps.db.transaction().execute(async (trx) => {
      await lockAccount(trx, user.id)
      return (await hasFactor(trx, user.id)) ? null : createSession(trx, deps, user.id)
    })
    if (session === null) return askForProof(deps, user.id, null)
    const record = await sessionRecord(deps, user, { ...session, factorAt: null })
    const known = newDevice(deps.rootKey, user.email, now)
    return withHeaders(record, signInCookies(deps.publicUrl(), session.token, record.csrfToken, known))
  },
})

export const logOut = operation({
  id: 'logOut',
  method: 'post',
  path: '/v1/auth/logout',
  tag: 'Sign-up and session',
  summary: 'Sign out',
  description: 'Ends the current session.',
  audience: 'account',
  status: 204,
  fails: [],
  run: async ({ actor, deps }) => {
    await endSession(deps.db, actor.sessionId)
    return withHeaders(undefined, signOutCookies(deps.publicUrl()))
  },
})

export const readSession = operation({
  id: 'readSession',
  method: 'get',
  path: '/v1/auth/session',
  tag: 'Sign-up and session',
  summary: 'Get the current session',
  description: 'Returns the signed-in user and the organizations that the user can act for.',
  audience: 'account',
  status: 200,
  result: SessionRecord,
  fails: [],
  run: async ({ actor, deps }) => {
    const user = await userOf(deps, actor.userId)
    const { sessionId: id, sessionEndsAt: expiresAt, factorAt } = actor
    return sessionRecord(deps, user, { id, expiresAt, factorAt })
  },
})

export const forgotPassword = operation({
  id: 'forgotPassword',
  method: 'post',
  path: '/v1/auth/password/forgot',
  tag: 'Sign-up and session',
  summary: 'Request a password reset email',
  description: 'Sends an email only if the address has an account. The response is the same in every case.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ email: KnownEmail }),
  status: 202,
  result: Accepted,
  fails: [],
  run: async ({ body, deps }) => {
    // The mail job looks the account up, so that the response time reveals nothing.
    await queueMail(deps.db, deps.clock.wall(), body.email, { kind: 'reset_password' })
    deps.mail.wake()
    return { accepted: true }
  },
})

export const resetPassword = operation({
  id: 'resetPassword',
  method: 'post',
  path: '/v1/auth/password/reset',
  tag: 'Sign-up and session',
  summary: 'Reset the password',
  description:
    'Takes the token from the password reset email. Ends all sessions of the user. The cookie svc_device gives this browser sign-in attempts of its own.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ token: MailedToken, password: NewPassword }),
  status: 204,
  fails: ['invalid_token', 'token_expired', 'internal_error'],
  run: async ({ body, deps }) => {
    // The token comes first: a hash costs much.
    const read = await readMailToken(deps.db, deps.rootKey, deps.clock.wall(), 'reset_password', body.token)
    if (isRefusal(read)) return read
    const { email } = await userOf(deps, read.subjectId)
    const passwordHash = await deps.passwords.hash(body.password)
    const now = deps.clock.wall()
    const refusal = await deps.db.transaction().execute(async (trx): Promise<null | Refusal> => {
      const spent = await useMailToken(trx, deps.rootKey, now, 'reset_password', body.token)
      if (isRefusal(spent)) return spent
      await setPassword(trx, spent.subjectId, passwordHash)
      // The link proves access to the mailbox, and so the address.
      await markEmailVerified(trx, spent.subjectId, now)
      await endUserSessions(trx, spent.subjectId, null)
      return null
    })
    if (refusal !== null) return refusal
    // While others use up the attempts of the account, its owner signs in from here.
    const known = newDevice(deps.rootKey, email, now)
    return withHeaders(undefined, hiddenCookie(deps.publicUrl(), DEVICE_COOKIE, known, DEVICE_LIFE_MS))
  },
})

export const changePassword = operation({
  id: 'changePassword',
  method: 'post',
  path: '/v1/auth/password/change',
  tag: 'Sign-up and session',
  summary: 'Change the password',
  description: 'Ends all other sessions of the user.',
  audience: 'account',
  body: z.strictObject({ currentPassword: Password, newPassword: NewPassword }),
  status: 204,
  fails: ['invalid_credentials', 'rate_limited', 'internal_error'],
  run: async ({ actor, body, deps }) => {
    const { email } = await userOf(deps, actor.userId)
    const attempts = `password in ${actor.sessionId}`
    const user = await checkPassword(deps, attempts, email, body.currentPassword)
    if (isRefusal(user)) return user
    const passwordHash = await deps.passwords.hash(body.newPassword)
    const now = deps.clock.wall()
    await deps.db.transaction().execute(async (trx) => {
      await setPassword(trx, user.id, passwordHash)
      await endUserSessions(trx, user.id, actor.sessionId)
      await invalidateMailTokens(trx, now, 'reset_password', user.id)
      await queueMail(trx, now, email, { kind: 'password_changed' })
    })
    deps.mail.wake()
    return undefined
  },
})

export const sessionOperations = [logIn, logOut, readSession, forgotPassword, resetPassword, changePassword]

/**
 * Returns the account if the password is correct. An unknown address takes the same time and gets the same
 * response as a wrong password. `attempts` names the counter of the attempts.
 */
async function checkPassword(
  deps: Deps,
  attempts: string,
  email: string,
  password: string,
): Promise<User | Refusal<'invalid_credentials' | 'rate_limited'>> {
  const limited = await throttle(deps, attempts, GUESSES_PER_MINUTE)
  if (limited !== null) return limited
  const user = await findUserByEmail(deps.db, email)
  const right = await deps.passwords.verify(password, user?.passwordHash ?? deps.passwords.unknownHash)
  return user !== undefined && right
    ? user
    : refuse('invalid_credentials', 'The address or the password is wrong.')
}
