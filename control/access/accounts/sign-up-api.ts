import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { operation } from '../../api/operation.js'
import { isRefusal, refuse } from '../../api/problem.js'
import { withHeaders } from '../../api/reply.js'
import { constantTimeEqual } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'
import { readMailToken, useMailToken } from '../../mail/mail-tokens.js'
import { queueMail } from '../../mail/outbox.js'
import { hiddenCookie, SIGN_UP_COOKIE } from '../sessions/cookies.js'
import {
  Accepted,
  Email,
  KnownEmail,
  MailedToken,
  NewPassword,
  OrganizationName,
  PersonName,
} from './schemas.js'
import {
  findUserByEmail,
  insertOrganization,
  insertUser,
  markEmailVerified,
  setPassword,
  UNVERIFIED_KEPT_MS,
} from './store.js'

export const checkEmailAvailable = operation({
  id: 'checkEmailAvailable',
  method: 'post',
  path: '/v1/signup/email-available',
  tag: 'Sign-up and session',
  summary: 'Check whether an email address can sign up',
  description: 'The answer does not reserve the address.',
  audience: 'public',
  perMinute: 10,
  body: z.strictObject({ email: Email }),
  status: 200,
  result: z.object({ available: z.boolean() }),
  fails: [],
  run: async ({ body, deps }) => ({ available: (await findUserByEmail(deps.db, body.email)) === undefined }),
})

export const signUp = operation({
  id: 'signUp',
  method: 'post',
  path: '/v1/signup',
  tag: 'Sign-up and session',
  summary: 'Create an account and its organization',
  description:
    'The email address must be verified before the first sign-in. The password is set at the verification. A password sent here is kept only if the same browser verifies the address (cookie svc_signup).',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({
    email: Email,
    password: NewPassword.optional(),
    name: PersonName.optional(),
    organizationName: OrganizationName,
  }),
  status: 201,
  result: z.object({ userId: z.string(), organizationId: z.string(), email: z.string() }),
  fails: ['email_exists', 'internal_error'],
  run: async ({ body, deps }) => {
    const { email, password, organizationName } = body
    // The part before the @ stands for a missing name.
    const name = body.name ?? email.slice(0, email.lastIndexOf('@'))
    if ((await findUserByEmail(deps.db, email)) !== undefined) return emailExists()
    const { unknownHash } = deps.passwords
    const passwordHash = password === undefined ? unknownHash : await deps.passwords.hash(password)
    const now = deps.clock.wall()
    const made = await deps.db.transaction().execute(async (trx) => {
      const userId = await insertUser(trx, now, { email, name, passwordHash, emailVerifiedAt: null })
      if (userId === null) return null
      const organizationId = await insertOrganization(trx, now, organizationName, userId)
      await queueMail(trx, now, email, { kind: 'verify_email' })
      return { userId, organizationId, email }
    })
    if (made === null) return emailExists()
    deps.mail.wake()
    if (password === undefined) return made
    const proof = signUpProof(deps.rootKey, made.userId)
    return withHeaders(made, hiddenCookie(deps.publicUrl(), SIGN_UP_COOKIE, proof, UNVERIFIED_KEPT_MS))
  },
})

export const verifyEmail = operation({
  id: 'verifyEmail',
  method: 'post',
  path: '/v1/auth/verify-email',
  tag: 'Sign-up and session',
  summary: 'Verify an email address',
  description:
    'Takes the token from the verification email and sets the password. The password may be missing only if it was sent at the sign-up from the same browser.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ token: MailedToken, password: NewPassword.optional(), name: PersonName.optional() }),
  status: 200,
  result: z.object({ email: z.string() }),
  fails: ['invalid_token', 'token_expired', 'validation_error', 'internal_error'],
  run: async ({ body, deps, cookie }) => {
    const { token, password, name } = body
    const { db, rootKey, clock } = deps
    // The token comes first: a hash costs much.
    const read = await readMailToken(db, rootKey, clock.wall(), 'verify_email', token)
    if (isRefusal(read)) return read
    // Anybody can sign up an address of another person. That person must not keep the password of a stranger.
    if (password === undefined && !signedUpHere(rootKey, read.subjectId, cookie(SIGN_UP_COOKIE))) {
      return refuse('validation_error', 'Set the password of the account.', {
        issues: [{ path: 'password', reason: 'required: the sign-up sent none from this browser' }],
      })
    }
    const passwordHash = password === undefined ? null : await deps.passwords.hash(password)
    const now = clock.wall()
    const verified = await db.transaction().execute(async (trx) => {
      const spent = await useMailToken(trx, rootKey, now, 'verify_email', token)
      if (isRefusal(spent)) return spent
      const userId = spent.subjectId
      if (!(await markEmailVerified(trx, userId, now)))
        return refuse('invalid_token', 'This address is already verified. Sign in, or reset the password.')
      if (passwordHash !== null) await setPassword(trx, userId, passwordHash)
      if (name !== undefined) await trx.updateTable('users').set({ name }).where('id', '=', userId).execute()
      return trx.selectFrom('users').where('id', '=', userId).select('email').executeTakeFirstOrThrow()
    })
    if (isRefusal(verified)) return verified
    return withHeaders(verified, hiddenCookie(deps.publicUrl(), SIGN_UP_COOKIE, '', 0))
  },
})

function emailExists() {
  return refuse('email_exists', 'This address has an account: sign in, or reset its password.')
}

/** Returns the proof that a browser signed up an account with a password. */
function signUpProof(rootKey: RootKey, userId: string): string {
  return createHmac('sha256', rootKey.subkey('sign-up-browser')).update(userId).digest('base64url')
}

/** Returns whether the cookie proves that this browser signed up the account with a password. */
export function signedUpHere(rootKey: RootKey, userId: string, cookie: string | null): boolean {
  return cookie !== null && constantTimeEqual(cookie, signUpProof(rootKey, userId))
}

export const resendVerification = operation({
  id: 'resendVerification',
  method: 'post',
  path: '/v1/auth/verify-email/resend',
  tag: 'Sign-up and session',
  summary: 'Resend the verification email',
  description:
    'Sends nothing if the address has no account or is verified already. The response is the same in every case.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ email: KnownEmail }),
  status: 202,
  result: Accepted,
  fails: [],
  run: async ({ body, deps }) => {
    await queueMail(deps.db, deps.clock.wall(), body.email, { kind: 'verify_email' })
    deps.mail.wake()
    return { accepted: true }
  },
})

export const signUpOperations = [checkEmailAvailable, signUp, verifyEmail, resendVerification]
