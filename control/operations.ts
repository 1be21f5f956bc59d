import { accessOperations } from './access/api.js'
import {
  createAgent,
  listAgents,
  listAgentVersions,
  publishAgent,
  readAgent,
  readAgentVersion,
  updateAgent,
} from './agents/api.js'
import { hangUpCall, listCalls, placeCall, readCall, readRecording, readTranscript } from './calls/api.js'
import { downloadMedia } from './calls/media-api.js'
import { listEvents, readEvent } from './events/api.js'
import type { Operation } from './http/operation.js'
import { listNumbers, readNumber, updateNumber } from './numbers/api.js'
import { callInToSandbox } from './sandbox/api.js'
import { health, openApi, ready } from './system/api.js'
import { deliveryOperations } from './webhooks/delivery-api.js'
import { endpointOperations } from './webhooks/endpoint-api.js'

/** Everything the API can do. Routing, checks and the API description all come from this list. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  createAgent,
  listAgents,
  readAgent,
  updateAgent,
  publishAgent,
  listAgentVersions,
  readAgentVersion,
  listNumbers,
  readNumber,
  updateNumber,
  placeCall,
  listCalls,
  readCall,
  readRecording,
  readTranscript,
  hangUpCall,
  downloadMedia,
  listEvents,
  readEvent,
  ...endpointOperations,
  ...deliveryOperations,
  callInToSandbox,
  openApi(() => operations),
  health,
  ready,
]
