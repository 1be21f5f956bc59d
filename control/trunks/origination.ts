import type { AdmissionDecision } from '../../signalling/call/ports.js'

/** A refusal to place a call, as the API words it. */
export interface PlacementRefusal {
  readonly code: string
}

type Refused = Extract<AdmissionDecision, { readonly admit: false }>

/** Read by the customer's telephone system or its operator. */
const CODE_HEADER = 'X-Svc-Code'

/**
 * How a refused origination is answered on the trunk (decisions 10): the code of the API in a header,
 * 402 when money is short, 486 when a pool is full, 404 for what is no number, else 403.
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
