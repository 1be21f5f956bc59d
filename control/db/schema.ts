import type { CallingTables } from './calling-tables.js'
import type { IdentityTables } from './identity-tables.js'

/** Every table; each group of tables lives beside its migration. */
export interface Database extends IdentityTables, CallingTables {}
