import type { Role } from '../db/tables/identity.js'
import type { Scope } from './actor.js'
import { type Refusal, refuse } from './problem.js'

/** Scopes, lowest first. Each scope implies the ones before it. */
export const SCOPES: readonly Scope[] = ['read', 'write', 'admin']

const CEILING: Readonly<Record<Role, Scope>> = {
  owner: 'admin',
  admin: 'admin',
  developer: 'write',
  viewer: 'read',
  billing: 'read',
}

/** Returns a scope with all that it implies: for `write`, `[read, write]`. */
export function impliedScopes(scope: Scope): readonly Scope[] {
  return SCOPES.slice(0, SCOPES.indexOf(scope) + 1)
}

/** Returns everything that a set of scopes grants, lowest first and without repetition. */
export function expandScopes(scopes: readonly Scope[]): readonly Scope[] {
  return SCOPES.filter((scope) => scopes.some((held) => impliedScopes(held).includes(scope)))
}

/** Returns the scopes that a role has in a session, and the most that its API keys can have. */
export function roleScopes(role: Role): readonly Scope[] {
  return impliedScopes(CEILING[role])
}

/** Roles to which session operations can be restricted. */
export const ADMIN_ROLES: readonly Role[] = ['owner', 'admin']
export const DEVELOPER_ROLES: readonly Role[] = ['owner', 'admin', 'developer']
export const BILLING_ROLES: readonly Role[] = ['owner', 'admin', 'billing']

/**
 * Refuses when the actor may not manage members of `role`: only owners make owners or change them. Returns
 * null when it may.
 */
export function refuseAboveRole(actor: { readonly role: Role }, role: Role): Refusal<'forbidden'> | null {
  if (role !== 'owner' || actor.role === 'owner') return null
  return refuse('forbidden', 'Only an owner can manage owners.')
}

/**
 * Returns the stored scopes limited to the creator's current role. Returns none when the creator has left the
 * organization.
 */
export function effectiveScopes(stored: readonly Scope[], role: Role | null): readonly Scope[] {
  if (role === null) return []
  const ceiling = roleScopes(role)
  return expandScopes(stored).filter((scope) => ceiling.includes(scope))
}

/** Parses the `scopes` column. An unreadable value grants nothing. */
export function parseScopes(stored: string): readonly Scope[] {
  const value: unknown = JSON.parse(stored)
  return Array.isArray(value) ? SCOPES.filter((scope) => value.includes(scope)) : []
}
