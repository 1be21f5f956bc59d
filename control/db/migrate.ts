import { type Kysely, Migrator } from 'kysely'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Dialect, type OpenDatabase, openDatabase, UNLIMITED } from './database.js'
import { createIdentityTables } from './migrations/0001-identity.js'
import { createCallingTables } from './migrations/0002-calling.js'
import { createAccessTables } from './migrations/0003-access.js'
import { createRequestLimits } from './migrations/0003-request-limits.js'
import { createWebhookTables } from './migrations/0004-webhooks.js'
import { createOrganizationTables } from './migrations/0005-organization.js'
import { createTrunkTables } from './migrations/0006-trunks.js'
import { createMediaEndpoints } from './migrations/0007-media-endpoints.js'
import { addTrunkSrtp } from './migrations/0008-trunk-srtp.js'
import { createResultTables } from './migrations/0009-call-results.js'
import { createHeartbeats } from './migrations/0010-heartbeats.js'
import { createSecretHosts } from './migrations/0011-secret-hosts.js'
import { addSearchAndTestRetention } from './migrations/0012-search-and-test-retention.js'
import { addSecondSubject } from './migrations/0013-second-subject.js'
import { createRequestBudgets } from './migrations/0014-request-budgets.js'
import { addRecordingKeys } from './migrations/0015-recording-keys.js'
import { createWalletTables } from './migrations/0016-wallet.js'
import { createUploads } from './migrations/0017-uploads.js'
import { createTransferDestinations } from './migrations/0018-transfer-destinations.js'
import { improveEvidence } from './migrations/0019-evidence.js'
import { addTrunkOperations } from './migrations/0020-trunk-operations.js'
import { createComplianceTables } from './migrations/0021-compliance.js'
import { createCampaigns } from './migrations/0022-campaigns.js'
import { createKnowledge } from './migrations/0023-knowledge.js'
import { createNumberPurchases } from './migrations/0024-number-purchases.js'
import { createPaymentTables } from './migrations/0025-payments.js'
import { createInvoiceTables } from './migrations/0026-invoices.js'
import { createTransferAttempts } from './migrations/0027-transfer-attempts.js'
import { createErasures } from './migrations/0028-erasures.js'
import { addCarrierTrunks } from './migrations/0029-carrier-trunks.js'
import { createRegisterScrubs } from './migrations/0030-register-scrubs.js'
import { addSipBindings } from './migrations/0031-sip-bindings.js'
import { addTransferLegs } from './migrations/0032-transfer-legs.js'
import { createCallRequests } from './migrations/0036-call-requests.js'
import { addCampaignBreaker } from './migrations/0037-campaign-breaker.js'
import { createLiveChanges } from './migrations/0039-live-changes.js'
import { createUsePeriods } from './migrations/0041-use-periods.js'
import { createEvidenceAnchors } from './migrations/0043-evidence-anchors.js'
import { createGatePolicies } from './migrations/0044-gate-policies.js'
import { createCallMonitors } from './migrations/0045-monitors.js'
import { addByoFallback } from './migrations/0046-byo-fallback.js'
import { indexJobsByKind } from './migrations/0053-jobs-by-kind.js'
import { indexCallDigits } from './migrations/0054-call-digits.js'
import { indexCarrierFailures } from './migrations/0055-carrier-failures.js'
import { createKnowledgeExtras } from './migrations/0056-knowledge-extras.js'
import { addTrunkContacts } from './migrations/0057-trunk-contacts.js'
import { indexCallFilters } from './migrations/0058-call-filters.js'
import { addDisputeHold } from './migrations/0060-dispute-hold.js'
import { createInvoiceFiles } from './migrations/0061-invoice-files.js'
import { addUnreachableTargets } from './migrations/0062-unreachable-targets.js'
import { addReportsAnswer } from './migrations/0063-reports-answer.js'
import { createInvoiceRegistrations } from './migrations/0064-e-invoices.js'
import { addRegisteringProcess } from './migrations/0066-registering-process.js'
import { addUndoneDials } from './migrations/0067-undone-dials.js'
import { addVersionAuthors } from './migrations/0068-version-authors.js'
import { addHangupCauses } from './migrations/0069-hangup-causes.js'
import { addDeliveryAttempts } from './migrations/0072-delivery-attempts.js'
import { indexChecksOfCall } from './migrations/0077-checks-of-call.js'
import { addTrunkClaims } from './migrations/0080-trunk-claims.js'
import { addOriginationBudgets } from './migrations/0081-origination-budgets.js'
import { indexLostDeliveries } from './migrations/0082-lost-deliveries.js'
import { createSecondFactors } from './migrations/0084-second-factors.js'
import { createWalletAdjustments } from './migrations/0085-wallet-adjustments.js'
import { createKeyChecks } from './migrations/0086-key-checks.js'
import { addLaunchRequests } from './migrations/0087-launch-requests.js'
import { addRefundAttempts } from './migrations/0088-refund-attempts.js'

type Migration = (db: Kysely<unknown>, dialect: Dialect) => Promise<void>

/**
 * Migrations in the order of their names, which the database stores. A released migration never changes:
 * add a new one instead.
 */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_identity': createIdentityTables,
  '0002_calling': createCallingTables,
  '0003_access': createAccessTables,
  '0003_request_limits': createRequestLimits,
  '0004_webhooks': createWebhookTables,
  '0005_organization': createOrganizationTables,
  '0006_trunks': createTrunkTables,
  '0007_media_endpoints': createMediaEndpoints,
  '0008_trunk_srtp': addTrunkSrtp,
  '0009_call_results': createResultTables,
  '0010_heartbeats': createHeartbeats,
  '0011_secret_hosts': createSecretHosts,
  '0012_search_and_test_retention': addSearchAndTestRetention,
  '0013_second_subject': addSecondSubject,
  '0014_request_budgets': createRequestBudgets,
  '0015_recording_keys': addRecordingKeys,
  '0016_wallet': createWalletTables,
  '0017_uploads': createUploads,
  '0018_transfer_destinations': createTransferDestinations,
  '0019_evidence': improveEvidence,
  '0020_trunk_operations': addTrunkOperations,
  '0021_compliance': createComplianceTables,
  '0022_campaigns': createCampaigns,
  '0023_knowledge': createKnowledge,
  '0024_number_purchases': createNumberPurchases,
  '0025_payments': createPaymentTables,
  '0026_invoices': createInvoiceTables,
  '0027_transfer_attempts': createTransferAttempts,
  '0028_erasures': createErasures,
  '0029_carrier_trunks': addCarrierTrunks,
  '0030_register_scrubs': createRegisterScrubs,
  '0031_sip_bindings': addSipBindings,
  '0032_transfer_legs': addTransferLegs,
  '0036_call_requests': createCallRequests,
  '0037_campaign_breaker': addCampaignBreaker,
  '0039_live_changes': createLiveChanges,
  '0041_use_periods': createUsePeriods,
  '0043_evidence_anchors': createEvidenceAnchors,
  '0044_gate_policies': createGatePolicies,
  '0045_monitors': createCallMonitors,
  '0046_byo_fallback': addByoFallback,
  '0053_jobs_by_kind': indexJobsByKind,
  '0054_call_digits': indexCallDigits,
  '0055_carrier_failures': indexCarrierFailures,
  '0056_knowledge_extras': createKnowledgeExtras,
  '0057_trunk_contacts': addTrunkContacts,
  '0058_call_filters': indexCallFilters,
  '0060_dispute_hold': addDisputeHold,
  '0061_invoice_files': createInvoiceFiles,
  '0062_unreachable_targets': addUnreachableTargets,
  '0063_reports_answer': addReportsAnswer,
  '0064_e_invoices': createInvoiceRegistrations,
  '0066_registering_process': addRegisteringProcess,
  '0067_undone_dials': addUndoneDials,
  '0068_version_authors': addVersionAuthors,
  '0069_hangup_causes': addHangupCauses,
  '0072_delivery_attempts': addDeliveryAttempts,
  '0077_checks_of_call': indexChecksOfCall,
  '0080_trunk_claims': addTrunkClaims,
  '0081_origination_budgets': addOriginationBudgets,
  '0082_lost_deliveries': indexLostDeliveries,
  '0084_second_factors': createSecondFactors,
  '0085_wallet_adjustments': createWalletAdjustments,
  '0086_key_checks': createKeyChecks,
  '0087_launch_requests': addLaunchRequests,
  '0088_refund_attempts': addRefundAttempts,
}

/**
 * Brings the schema up to date in one transaction. If several processes call this at the same time, one
 * migrates and the others wait. Throws EngineError `storage_failed`.
 */
export async function migrate(database: OpenDatabase): Promise<void> {
  const migrator = new Migrator({
    db: database.db,
    provider: {
      async getMigrations() {
        return Object.fromEntries(
          Object.entries(MIGRATIONS).map(([name, migration]) => [
            name,
            { up: (db: Kysely<unknown>) => migration(db, database.dialect) },
          ]),
        )
      },
    },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    throw new EngineError('storage_failed', 'the database schema could not be brought up to date', {
      cause: error,
    })
  }
}

/**
 * Migrates the database at `url`, which `database` has open. On PostgreSQL this happens over a connection of its own, whose
 * statements may take as long as they need. Throws as `migrate` does.
 */
export async function migrateAt(url: string, database: OpenDatabase, log: Log): Promise<void> {
  if (database.dialect === 'sqlite') {
    await migrate(database)
    return
  }
  const unlimited = openDatabase(url, log, () => {}, UNLIMITED)
  try {
    await migrate(unlimited)
  } finally {
    await unlimited.close()
  }
}
