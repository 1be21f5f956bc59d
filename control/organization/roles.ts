import { ADMINS } from '../access/scopes.js'
import type { Role } from '../db/tables/identity.js'

/** May manage what agents work with. */
export const DEVELOPERS: readonly Role[] = [...ADMINS, 'developer']
