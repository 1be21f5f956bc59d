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
import { downloadMedia } from '../calls/media-api.js'
import { readComplianceCheck } from '../compliance/check-api.js'
import { connectionOperations } from '../connections/api.js'
import { listNumbers, readNumber, updateNumber } from '../numbers/api.js'
import { organizationOperations } from '../organization/api.js'
import { registrationOperations } from '../organization/registrations-api.js'
import { verificationOperations } from '../organization/verification-api.js'
import { secretOperations } from '../secrets/api.js'
import { staffOperations } from '../staff/api.js'
import { staffWalletOperations } from '../staff/wallet-api.js'
import { health, openApi, ready } from '../system/api.js'
import { readLimits } from '../system/limits-api.js'
import { readMetrics } from '../system/metrics-api.js'
import { callInToSandbox } from '../system/sandbox-api.js'
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
  placeCall,
  listCalls,
  exportCalls,
  readCall,
  readRecording,
  readTranscript,
  hangUpCall,
  downloadMedia,
  readComplianceCheck,
  listEvents,
  readEvent,
  ...endpointOperations,
  ...deliveryOperations,
  ...walletOperations,
  readLimits,
  ...organizationOperations,
  ...verificationOperations,
  putUpload,
  ...registrationOperations,
  ...secretOperations,
  ...connectionOperations,
  ...staffOperations,
  ...staffWalletOperations,
  callInToSandbox,
  openApi(() => operations),
  health,
  ready,
  readMetrics,
]
