import type { AccessTables } from './access-tables.js'
import type { CallingTables } from './calling-tables.js'
import type { IdentityTables } from './identity-tables.js'
import type { OrganizationTables } from './organization-tables.js'
import type { RequestLimitTables } from './request-limits.js'
import type { ResultTables } from './result-tables.js'
import type { TrunkTables } from './trunk-tables.js'
import type { WebhookTables } from './webhook-tables.js'

/** Every table; each group of tables lives beside its migration. */
export interface Database
  extends IdentityTables,
    AccessTables,
    CallingTables,
    RequestLimitTables,
    ResultTables,
    TrunkTables,
    OrganizationTables,
    WebhookTables {}
