import { ADMIN_ROLES } from '../access/scopes.js'
import type { Role } from '../db/tables/identity.js'

/** May manage what agents work with. */
export const DEVELOPERS: readonly Role[] = [...ADMIN_ROLES, 'developer']
