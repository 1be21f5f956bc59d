import type { AccessTables } from './access.js'
import type { CallingTables } from './calling.js'
import type { IdentityTables } from './identity.js'
import type { OrganizationTables } from './organization.js'
import type { RequestLimitTables } from './request-limits.js'
import type { ResultTables } from './results.js'
import type { TrunkTables } from './trunks.js'
import type { WalletTables } from './wallet.js'
import type { WebhookTables } from './webhooks.js'

/** All tables. The files in ../migrations create them. */
export interface Database
  extends IdentityTables,
    AccessTables,
    CallingTables,
    RequestLimitTables,
    ResultTables,
    TrunkTables,
    OrganizationTables,
    WalletTables,
    WebhookTables {}
