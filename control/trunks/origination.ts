import type { AdmissionDecision } from '../../signalling/call/ports.js'

/** Refusal to place a call, with its API error code. */
export interface PlacementRefusal {
  readonly code: string
}

type Refused = Extract<AdmissionDecision, { readonly admit: false }>

/** Header with the API error code, for the PBX of the customer and its operator. */
const CODE_HEADER = 'X-Svc-Code'

/**
 * Returns the SIP response to a refused outbound call from a trunk, with the API error code in a header:
 * 402 for insufficient funds, 486 for a full pool, 404 for an invalid number, 503 for failures, else 403.
 */
export function originationRefusal({ code }: PlacementRefusal): Refused {
  const headers = { [CODE_HEADER]: code }
  switch (code) {
    case 'insufficient_funds':
      return { admit: false, sip: 402, reason: code, headers }
    case 'concurrent_call_limit_reached':
      return { admit: false, sip: 486, reason: code, headers, cause: 'pool_full' }
    case 'validation_error':
      return { admit: false, sip: 404, reason: code, headers }
    case 'provider_unavailable':
    case 'internal_error':
      return { admit: false, sip: 503, reason: code, headers }
    default:
      return { admit: false, sip: 403, reason: code, headers }
  }
}
