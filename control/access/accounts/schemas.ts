import { z } from 'zod'
import { oneLine, openEnum, Timestamp } from '../../base/schemas.js'
import { canonicalEmail } from './store.js'

/** The address of a new account. Mail must be able to reach it. */
export const Email = z.email().max(254).transform(canonicalEmail)

/** The address of an existing account. The installation's first owner has a local address. */
export const KnownEmail = z.string().min(1).max(254).transform(canonicalEmail)

/** At least 10 characters. The upper limit only keeps bodies small. */
export const NewPassword = z.string().min(10).max(200)
export const Password = z.string().min(1).max(200)

export const PersonName = oneLine(80)
export const OrganizationName = oneLine(120)
export const MailedToken = z.string().min(1).max(200)

export const Role = openEnum('owner', 'admin', 'developer', 'viewer', 'billing')

export const SessionRecord = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string(), staff: z.boolean() }),
  organizations: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      role: Role,
      requireSecondFactor: z.boolean().meta({
        description: 'True if only a session with a proven second factor may act for the organization.',
      }),
    }),
  ),
  secondFactor: z.object({
    enrolled: z.boolean().meta({ description: 'True if the account has a second factor.' }),
    proven: z.boolean().meta({
      description: 'True if a second factor was proven in this session. Staff may do nothing else before.',
    }),
  }),
  /** Send it as `x-svc-csrf` with every change. */
  csrfToken: z.string(),
  /** The session ends at this time at the latest. */
  expiresAt: Timestamp,
})

/** The response to public requests. It does not reveal whether the account exists. */
export const Accepted = z.object({ accepted: z.boolean() })

export const RoleInput = z.enum(['owner', 'admin', 'developer', 'viewer', 'billing'])
