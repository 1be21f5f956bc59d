import type { Role } from '../db/identity-tables.js'

/** May change what the organization is and answers for. */
export const ADMINS: readonly Role[] = ['owner', 'admin']

/** May also manage what agents work with. */
export const DEVELOPERS: readonly Role[] = [...ADMINS, 'developer']
