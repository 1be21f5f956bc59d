import type { AccessTables } from './access.js'
import type { CallingTables } from './calling.js'
import type { CampaignTables } from './campaigns.js'
import type { ComplianceTables } from './compliance.js'
import type { ErasureTables } from './erasures.js'
import type { FactorTables } from './factors.js'
import type { IdentityTables } from './identity.js'
import type { InvoiceTables } from './invoices.js'
import type { KnowledgeTables } from './knowledge.js'
import type { LiveTables } from './live.js'
import type { MonitorTables } from './monitors.js'
import type { OrganizationTables } from './organization.js'
import type { PaymentTables } from './payments.js'
import type { RequestLimitTables } from './request-limits.js'
import type { ResultTables } from './results.js'
import type { TransferTables } from './transfers.js'
import type { TrunkTables } from './trunks.js'
import type { WalletTables } from './wallet.js'
import type { WebhookTables } from './webhooks.js'

/** All tables. The files in ../migrations create them. */
export interface Database
  extends IdentityTables,
    AccessTables,
    CallingTables,
    CampaignTables,
    ComplianceTables,
    InvoiceTables,
    PaymentTables,
    ErasureTables,
    FactorTables,
    RequestLimitTables,
    ResultTables,
    TransferTables,
    TrunkTables,
    OrganizationTables,
    KnowledgeTables,
    LiveTables,
    MonitorTables,
    WalletTables,
    WebhookTables {}
