import { z } from 'zod'
import { openEnum, Timestamp } from '../../base/schemas.js'
import { canonicalEmail } from './store.js'

/** A new address: one that mail can reach. */
export const Email = z.email().max(254).transform(canonicalEmail)

/** The address of an account there may be; the installation's first owner has a local one. */
export const KnownEmail = z.string().min(1).max(254).transform(canonicalEmail)

/** At least 10 characters (decisions 2.2); the upper bound only keeps bodies small. */
export const NewPassword = z.string().min(10).max(200)
export const Password = z.string().min(1).max(200)

/** Names stand in mails to others: one line each. */
const oneLine = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u, 'must be one line without control characters')

export const PersonName = oneLine(80)
export const OrganizationName = oneLine(120)
export const MailedToken = z.string().min(1).max(200)

export const Role = openEnum('owner', 'admin', 'developer', 'viewer', 'billing')

export const SessionRecord = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string(), staff: z.boolean() }),
  organizations: z.array(z.object({ id: z.string(), name: z.string(), role: Role })),
  /** Send it as `x-svc-csrf` with every change. */
  csrfToken: z.string(),
  /** The session ends then at the latest. */
  expiresAt: Timestamp,
})

/** The answer to what anybody may ask for: whether there is such an account stays unsaid. */
export const Accepted = z.object({ accepted: z.boolean() })

export const RoleInput = z.enum(['owner', 'admin', 'developer', 'viewer', 'billing'])
