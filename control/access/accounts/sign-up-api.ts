import { z } from 'zod'
import { operation } from '../../api/operation.js'
import { isRefusal, refuse } from '../../api/problem.js'
import { useMailToken } from '../../mail/mail-tokens.js'
import { queueMail } from '../../mail/outbox.js'
import {
  Accepted,
  Email,
  KnownEmail,
  MailedToken,
  NewPassword,
  OrganizationName,
  PersonName,
} from './schemas.js'
import { findUserByEmail, insertOrganization, insertUser, markEmailVerified } from './store.js'

export const checkEmailAvailable = operation({
  id: 'checkEmailAvailable',
  method: 'post',
  path: '/v1/signup/email-available',
  tag: 'Sign-up and session',
  summary: 'Check whether an email address can sign up',
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
  description: 'The email address must be verified before the first sign-in.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({
    email: Email,
    password: NewPassword,
    name: PersonName,
    organizationName: OrganizationName,
  }),
  status: 201,
  result: z.object({ userId: z.string(), organizationId: z.string(), email: z.string() }),
  fails: ['email_exists', 'internal_error'],
  run: async ({ body, deps }) => {
    const { email, name, password, organizationName } = body
    const passwordHash = await deps.passwords.hash(password)
    const now = deps.clock.wall()
    const made = await deps.db.transaction().execute(async (trx) => {
      const userId = await insertUser(trx, now, { email, name, passwordHash, emailVerifiedAt: null })
      if (userId === null) return null
      const organizationId = await insertOrganization(trx, now, organizationName, userId)
      await queueMail(trx, now, email, { kind: 'verify_email' })
      return { userId, organizationId, email }
    })
    if (made === null)
      return refuse('email_exists', 'This address has an account: sign in, or reset its password.')
    deps.mail.wake()
    return made
  },
})

export const verifyEmail = operation({
  id: 'verifyEmail',
  method: 'post',
  path: '/v1/auth/verify-email',
  tag: 'Sign-up and session',
  summary: 'Verify an email address',
  description: 'Takes the token from the verification email.',
  audience: 'public',
  perMinute: 30,
  body: z.strictObject({ token: MailedToken }),
  status: 200,
  result: z.object({ email: z.string() }),
  fails: ['invalid_token', 'token_expired'],
  run: ({ body, deps }) => {
    const now = deps.clock.wall()
    return deps.db.transaction().execute(async (trx) => {
      const spent = await useMailToken(trx, deps.rootKey, now, 'verify_email', body.token)
      if (isRefusal(spent)) return spent
      await markEmailVerified(trx, spent.subjectId, now)
      return trx
        .selectFrom('users')
        .where('id', '=', spent.subjectId)
        .select('email')
        .executeTakeFirstOrThrow()
    })
  },
})

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
