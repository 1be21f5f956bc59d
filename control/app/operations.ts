import { accessOperations } from '../access/api.js'
import {
  createAgent,
  listAgents,
  listAgentVersions,
  publishAgent,
  readAgent,
  readAgentVersion,
  updateAgent,
} from '../agents/api.js'
import { listModels, listVoices } from '../agents/catalogue-api.js'
import { listKnowledgeBaseAgents, updateKnowledgeBase } from '../agents/knowledge-api.js'
import { deleteAgent, rollbackAgent, setAgentSenderClassification } from '../agents/lifecycle-api.js'
import type { Operation } from '../api/operation.js'
import {
  exportCalls,
  hangUpCall,
  listCalls,
  placeCall,
  readCall,
  readRecording,
  readTranscript,
} from '../calls/api.js'
import { browserCallOperations } from '../calls/browser/api.js'
import { receiveCarrierCallback } from '../calls/carrier-callback-api.js'
import { checkCompliance } from '../calls/compliance-check-api.js'
import { liveCallOperations } from '../calls/live-call-api.js'
import { downloadMedia } from '../calls/media-api.js'
import { monitorOperations } from '../calls/monitors/api.js'
import { readCallTimeline } from '../calls/timeline-api.js'
import { campaignOperations } from '../campaigns/api.js'
import { archiveOperations } from '../campaigns/archive-api.js'
import { callbackOperations } from '../campaigns/callbacks/api.js'
import { lifecycleOperations } from '../campaigns/lifecycle-api.js'
import { outcomeOperations } from '../campaigns/outcomes-api.js'
import { recipientOperations } from '../campaigns/recipients-api.js'
import { listComplianceChecks, readComplianceCheck } from '../compliance/check-api.js'
import { consentOperations } from '../compliance/consent-api.js'
import { staffRegisterOperations } from '../compliance/dnd/scrub-api.js'
import { evidenceOperations } from '../compliance/evidence/api.js'
import { suppressionOperations } from '../compliance/suppression-api.js'
import { connectionOperations } from '../connections/api.js'
import { erasureOperations } from '../erasure/api.js'
import { invoiceOperations } from '../invoices/api.js'
import { knowledgeOperations } from '../knowledge/operations.js'
import { watchLive } from '../live/api.js'
import { listNumbers, readNumber, updateNumber } from '../numbers/api.js'
import { purchaseOperations } from '../numbers/purchase-api.js'
import { organizationOperations } from '../organization/api.js'
import { registrationOperations } from '../organization/registrations-api.js'
import { verificationOperations } from '../organization/verification-api.js'
import { readOverview } from '../overview/api.js'
import { paymentOperations } from '../payments/api.js'
import { secretOperations } from '../secrets/api.js'
import { adjustmentOperations } from '../staff/adjustment-api.js'
import { staffOperations } from '../staff/api.js'
import { listInvoicesAsStaff } from '../staff/invoice-api.js'
import { staffPaymentOperations } from '../staff/payment-api.js'
import { staffSipOperations } from '../staff/sip-api.js'
import { staffWalletOperations } from '../staff/wallet-api.js'
import { health, openApi, ready } from '../system/api.js'
import { readLimits } from '../system/limits-api.js'
import { readMetrics } from '../system/metrics-api.js'
import { callInToSandbox } from '../system/sandbox-api.js'
import { transferOperations } from '../transfers/api.js'
import { destinationOperations } from '../transfers/destination-api.js'
import { readHandoff } from '../transfers/handoff-api.js'
import { watchHandoff } from '../transfers/handoff-events.js'
import { takeoverOperations } from '../transfers/takeover-api.js'
import { trunkAccessOperations } from '../trunks/access-api.js'
import { trunkOperations } from '../trunks/api.js'
import { numberSipOperations } from '../trunks/binding-api.js'
import { trunkNumberOperations } from '../trunks/number-api.js'
import { putUpload } from '../uploads/api.js'
import { walletOperations } from '../wallet/api.js'
import { deliveryOperations } from '../webhooks/delivery-api.js'
import { endpointOperations } from '../webhooks/endpoint-api.js'
import { listEvents, readEvent } from '../webhooks/event-api.js'

/** All operations of the API. Routing, checks and the API description are built from this list. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  createAgent,
  listAgents,
  readAgent,
  updateAgent,
  publishAgent,
  deleteAgent,
  rollbackAgent,
  setAgentSenderClassification,
  listAgentVersions,
  readAgentVersion,
  listVoices,
  listModels,
  listNumbers,
  readNumber,
  updateNumber,
  ...purchaseOperations,
  ...numberSipOperations,
  ...trunkAccessOperations,
  ...trunkOperations,
  ...trunkNumberOperations,
  placeCall,
  listCalls,
  exportCalls,
  readCall,
  readRecording,
  readTranscript,
  readCallTimeline,
  ...liveCallOperations,
  ...browserCallOperations,
  ...monitorOperations,
  hangUpCall,
  watchLive,
  downloadMedia,
  receiveCarrierCallback,
  ...campaignOperations,
  ...recipientOperations,
  ...lifecycleOperations,
  ...archiveOperations,
  ...outcomeOperations,
  ...callbackOperations,
  checkCompliance,
  listComplianceChecks,
  readComplianceCheck,
  ...evidenceOperations,
  ...consentOperations,
  ...suppressionOperations,
  ...erasureOperations,
  listEvents,
  readEvent,
  ...transferOperations,
  ...takeoverOperations,
  readHandoff,
  watchHandoff,
  ...destinationOperations,
  ...endpointOperations,
  ...deliveryOperations,
  ...knowledgeOperations,
  listKnowledgeBaseAgents,
  updateKnowledgeBase,
  ...walletOperations,
  ...paymentOperations,
  ...invoiceOperations,
  readLimits,
  readOverview,
  ...organizationOperations,
  ...verificationOperations,
  putUpload,
  ...registrationOperations,
  ...secretOperations,
  ...connectionOperations,
  ...staffOperations,
  ...staffWalletOperations,
  ...adjustmentOperations,
  listInvoicesAsStaff,
  ...staffSipOperations,
  ...staffPaymentOperations,
  ...staffRegisterOperations,
  callInToSandbox,
  openApi(() => operations),
  health,
  ready,
  readMetrics,
]
