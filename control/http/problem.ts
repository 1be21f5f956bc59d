/** The families clients fall back on when they do not know a code (contract 7). */
export type ErrorType =
  | 'invalid_request'
  | 'authentication'
  | 'authorization'
  | 'not_found'
  | 'conflict'
  | 'rate_limit'
  | 'compliance'
  | 'payment_required'
  | 'server_error'

interface Problem {
  readonly status: number
  readonly type: ErrorType
  /** When it happens; goes into the API description. */
  readonly when: string
}

const problem = (status: number, type: ErrorType, when: string): Problem => ({ status, type, when })

/**
 * Every error code of the API: status, type and condition. Codes are added, never renamed. The one
 * place where a code meets an HTTP status.
 */
export const PROBLEMS = {
  bad_request: problem(400, 'invalid_request', 'The request is malformed in a way no single field explains.'),
  validation_error: problem(400, 'invalid_request', 'A field failed validation; details.issues lists each.'),
  method_not_allowed: problem(405, 'invalid_request', 'The path exists, the method does not; see Allow.'),
  unprocessable_entity: problem(422, 'invalid_request', 'Well-formed, but contradicts the current state.'),
  not_found: problem(404, 'not_found', 'No such resource for this key.'),
  conflict: problem(409, 'conflict', 'Collided with the state of the resource.'),
  idempotency_key_in_use: problem(409, 'conflict', 'Another request with this Idempotency-Key still runs.'),
  idempotency_key_reused_with_different_params: problem(
    422,
    'conflict',
    'This Idempotency-Key was used with another body.',
  ),
  environment_mismatch: problem(
    422,
    'invalid_request',
    'The body names a resource of the other environment.',
  ),
  missing_variables: problem(422, 'invalid_request', 'Required agent variables have no value.'),
  unauthenticated: problem(401, 'authentication', 'No or unverifiable credential.'),
  invalid_credentials: problem(401, 'authentication', 'The credential is revoked, expired or wrong.'),
  forbidden: problem(403, 'authorization', 'Authenticated, but not allowed.'),
  insufficient_scope: problem(403, 'authorization', 'The key has too low a scope.'),
  invalid_signature: problem(401, 'authentication', 'A signed request failed verification.'),
  email_not_verified: problem(403, 'authorization', 'Sign-in before the address was verified.'),
  email_exists: problem(409, 'conflict', 'The address has an account already.'),
  invalid_token: problem(400, 'invalid_request', 'The token is unparsable, used or foreign.'),
  token_expired: problem(400, 'invalid_request', 'The token is past its validity.'),
  mfa_required: problem(401, 'authentication', 'Reserved; never returned.'),
  blocked_dnd: problem(403, 'compliance', 'The recipient is suppressed or on the do-not-disturb register.'),
  blocked_opt_out: problem(403, 'compliance', 'Blocked by the calling window or an enforcement state.'),
  blocked_dlt_invalid: problem(403, 'compliance', 'A required declaration or registration is missing.'),
  insufficient_funds: problem(402, 'payment_required', 'The wallet cannot cover it.'),
  rate_limited: problem(429, 'rate_limit', 'The request budget is spent; see Retry-After.'),
  concurrent_call_limit_reached: problem(429, 'rate_limit', 'A concurrency pool is full.'),
  number_unavailable: problem(409, 'conflict', 'The number was taken in between.'),
  provider_unavailable: problem(503, 'server_error', 'The carrier is unreachable or its answer unknown.'),
  provider_quota_exhausted: problem(429, 'rate_limit', "The carrier's daily cap is spent."),
  provider_rejected: problem(422, 'invalid_request', 'The carrier refused the request.'),
  call_not_live: problem(409, 'conflict', 'No agent is on the call.'),
  sip_trunking_request_pending: problem(409, 'conflict', 'An access request already waits.'),
  sip_trunking_already_enabled: problem(409, 'conflict', 'The organization can create trunks already.'),
  sip_trunking_not_enabled: problem(403, 'authorization', 'No entitlement to create trunks.'),
  billing_details_required: problem(422, 'invalid_request', 'Billing name, address and state are missing.'),
  price_changed: problem(409, 'conflict', 'The total moved since it was shown.'),
  compliance_incomplete: problem(403, 'compliance', 'What the law asks for first is missing.'),
  knowledge_base_not_ready: problem(409, 'conflict', 'A knowledge base was never built.'),
  document_too_large: problem(413, 'invalid_request', 'The document is too large.'),
  sip_trunk_not_active: problem(409, 'conflict', 'The trunk is not active.'),
  sip_trunk_has_numbers: problem(409, 'conflict', 'Numbers still use the trunk.'),
  internal_error: problem(500, 'server_error', 'The service failed; retry with backoff.'),
} as const satisfies Record<string, Problem>

export type ErrorCode = keyof typeof PROBLEMS

/** Structured context of an error, as the API documents it per code. */
export type Details = Readonly<Record<string, unknown>>

const refused = Symbol('refused')

/** An expected no, returned by use-cases and handlers; never thrown. */
export interface Refusal<C extends ErrorCode = ErrorCode> {
  readonly [refused]: true
  readonly code: C
  readonly message: string
  readonly details: Details | null
  /** When it is not the code's own: `internal_error` may be any 5xx. */
  readonly status: number
  /** Extra response headers, for example `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>
}

export function refuse<C extends ErrorCode>(
  code: C,
  message: string,
  details: Details | null = null,
  headers: Readonly<Record<string, string>> = {},
): Refusal<C> {
  return { [refused]: true, code, message, details, headers, status: PROBLEMS[code].status }
}

/** 503: the service itself cannot take this now (starting, draining, overloaded, store away). */
export function unavailable(message: string, details: Details | null): Refusal<'internal_error'> {
  return { ...refuse('internal_error', message, details, { 'retry-after': '1' }), status: 503 }
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && refused in value
}

/** The error body of the contract. */
export interface ErrorEnvelope {
  readonly error: {
    readonly type: ErrorType
    readonly code: ErrorCode
    readonly message: string
    readonly details?: Details
    readonly doc_url: string
    readonly request_id: string
  }
}

export function errorEnvelope(refusal: Refusal, docsUrl: string, requestId: string): ErrorEnvelope {
  return {
    error: {
      type: PROBLEMS[refusal.code].type,
      code: refusal.code,
      message: refusal.message,
      ...(refusal.details === null ? {} : { details: refusal.details }),
      doc_url: `${docsUrl}#${refusal.code}`,
      request_id: requestId,
    },
  }
}
