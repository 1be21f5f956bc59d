import type { Role } from '../db/tables/identity.js'
import type { Scope } from './operation.js'
import { type Refusal, refuse } from './problem.js'

/** Lowest first; each implies those before it. */
export const SCOPES: readonly Scope[] = ['read', 'write', 'admin']

const CEILING: Readonly<Record<Role, Scope>> = {
  owner: 'admin',
  admin: 'admin',
  developer: 'write',
  viewer: 'read',
  billing: 'read',
}

/** A scope with all it implies: `write` is `[read, write]`. */
export function impliedScopes(scope: Scope): readonly Scope[] {
  return SCOPES.slice(0, SCOPES.indexOf(scope) + 1)
}

/** All that a set of scopes grants, without repetition, lowest first. */
export function expandScopes(scopes: readonly Scope[]): readonly Scope[] {
  return SCOPES.filter((scope) => scopes.some((held) => impliedScopes(held).includes(scope)))
}

/** All that a role may do through keys, and in a session. */
export function roleScopes(role: Role): readonly Scope[] {
  return impliedScopes(CEILING[role])
}

/** Roles that session operations are kept to (decisions 9). */
export const ADMIN_ROLES: readonly Role[] = ['owner', 'admin']
export const DEVELOPER_ROLES: readonly Role[] = ['owner', 'admin', 'developer']
export const BILLING_ROLES: readonly Role[] = ['owner', 'admin', 'billing']

/** Admins neither make owners nor change them; null when the role reaches far enough. */
export function refuseAboveRole(actor: { readonly role: Role }, role: Role): Refusal<'forbidden'> | null {
  if (role !== 'owner' || actor.role === 'owner') return null
  return refuse('forbidden', 'Only an owner may do this to an owner.')
}

/** Stored scopes under the creator's present role; none when the creator has left. */
export function effectiveScopes(stored: readonly Scope[], role: Role | null): readonly Scope[] {
  if (role === null) return []
  const ceiling = roleScopes(role)
  return expandScopes(stored).filter((scope) => ceiling.includes(scope))
}

/** The scopes column; an unreadable one grants nothing. */
export function parseScopes(stored: string): readonly Scope[] {
  const value: unknown = JSON.parse(stored)
  return Array.isArray(value) ? SCOPES.filter((scope) => value.includes(scope)) : []
}
