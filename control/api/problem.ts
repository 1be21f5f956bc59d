/** Families of error codes, for clients that do not know a code. */
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
  /** Condition of the error, used in the OpenAPI description. */
  readonly when: string
}

const problem = (status: number, type: ErrorType, when: string): Problem => ({ status, type, when })

/**
 * All error codes of the API with status, type and condition. Codes are added, never renamed. This is the
 * only mapping of codes to HTTP statuses.
 */
export const PROBLEMS = {
  bad_request: problem(400, 'invalid_request', 'The request as a whole is malformed.'),
  validation_error: problem(
    400,
    'invalid_request',
    'At least one field is invalid. details.issues lists all invalid fields.',
  ),
  method_not_allowed: problem(
    405,
    'invalid_request',
    'The path does not support the method. The Allow header lists the supported methods.',
  ),
  not_acceptable: problem(
    406,
    'invalid_request',
    'The operation cannot return a content type that the Accept header allows.',
  ),
  request_timeout: problem(408, 'invalid_request', 'The request was not received in time.'),
  precondition_failed: problem(
    412,
    'invalid_request',
    'A condition of the request, for example If-Match, does not hold.',
  ),
  range_not_satisfiable: problem(416, 'invalid_request', 'The file has no bytes in the requested range.'),
  headers_too_large: problem(431, 'invalid_request', 'The headers of the request are too large.'),
  unprocessable_entity: problem(
    422,
    'invalid_request',
    'The request is valid but conflicts with current data.',
  ),
  not_found: problem(404, 'not_found', 'The resource does not exist or is not visible to this key.'),
  conflict: problem(409, 'conflict', 'The request conflicts with the state of the resource.'),
  idempotency_key_in_use: problem(
    409,
    'conflict',
    'Another request with this Idempotency-Key is still running.',
  ),
  idempotency_key_reused_with_different_params: problem(
    422,
    'conflict',
    'This Idempotency-Key was already used with a different body.',
  ),
  environment_mismatch: problem(
    422,
    'invalid_request',
    'The body refers to a resource of the other environment (test or live).',
  ),
  missing_variables: problem(422, 'invalid_request', 'Required variables of the agent have no value.'),
  unauthenticated: problem(401, 'authentication', 'The credential is missing or cannot be verified.'),
  invalid_credentials: problem(401, 'authentication', 'The credential is revoked, expired or wrong.'),
  forbidden: problem(403, 'authorization', 'The caller is authenticated but not allowed to do this.'),
  insufficient_scope: problem(403, 'authorization', 'The key does not have the required scope.'),
  invalid_signature: problem(401, 'authentication', 'The signature of a signed request is invalid.'),
  email_not_verified: problem(403, 'authorization', 'The email address must be verified before sign-in.'),
  email_exists: problem(409, 'conflict', 'The email address already has an account.'),
  invalid_token: problem(
    400,
    'invalid_request',
    'The token is malformed, already used or not issued for this operation.',
  ),
  token_expired: problem(400, 'invalid_request', 'The token has expired.'),
  mfa_required: problem(
    401,
    'authentication',
    'A second factor must be proven with POST /v1/auth/login/verify. details.factors lists what is accepted.',
  ),
  blocked_dnd: problem(
    403,
    'compliance',
    'The recipient is on a suppression list or on the do-not-disturb register.',
  ),
  blocked_opt_out: problem(
    403,
    'compliance',
    'The call is outside the calling hours, or calls of the organization are blocked.',
  ),
  blocked_dlt_invalid: problem(403, 'compliance', 'A required declaration or registration is missing.'),
  insufficient_funds: problem(402, 'payment_required', 'The wallet balance is too low.'),
  rate_limited: problem(
    429,
    'rate_limit',
    'The request budget is used up. Retry after the time in Retry-After.',
  ),
  concurrent_call_limit_reached: problem(429, 'rate_limit', 'The limit of concurrent calls is reached.'),
  number_unavailable: problem(409, 'conflict', 'The number is no longer available.'),
  provider_unavailable: problem(
    503,
    'server_error',
    'The carrier or the payment gateway cannot be reached or sent an unknown response.',
  ),
  provider_quota_exhausted: problem(429, 'rate_limit', 'The daily quota of the carrier is used up.'),
  provider_rejected: problem(
    422,
    'invalid_request',
    'The carrier or the payment gateway rejected the request.',
  ),
  call_not_live: problem(409, 'conflict', 'There is no agent on the call.'),
  sip_trunking_request_pending: problem(409, 'conflict', 'A request for access is already pending.'),
  sip_trunking_already_enabled: problem(409, 'conflict', 'The organization can already create trunks.'),
  sip_trunking_not_enabled: problem(
    403,
    'authorization',
    'The organization is not allowed to create trunks.',
  ),
  billing_details_required: problem(422, 'invalid_request', 'Billing name, address and state are missing.'),
  price_changed: problem(409, 'conflict', 'The total price changed after it was shown.'),
  compliance_incomplete: problem(
    403,
    'compliance',
    'Legal requirements for calls are not met. details.missing lists them.',
  ),
  knowledge_base_not_ready: problem(409, 'conflict', 'A knowledge base has not been built yet.'),
  document_too_large: problem(413, 'invalid_request', 'The document or the body is too large.'),
  sip_trunk_not_active: problem(409, 'conflict', 'The trunk is not active.'),
  sip_trunk_has_numbers: problem(409, 'conflict', 'The trunk still has numbers.'),
  internal_error: problem(500, 'server_error', 'The service failed. Retry with backoff.'),
} as const satisfies Record<string, Problem>

export type ErrorCode = keyof typeof PROBLEMS

/** Structured context of an error, documented per code. */
export type Details = Readonly<Record<string, unknown>>

const refused = Symbol('refused')

/** An expected error, returned by handlers and their functions. Never thrown. */
export interface Refusal<C extends ErrorCode = ErrorCode> {
  readonly [refused]: true
  readonly code: C
  readonly message: string
  readonly details: Details | null
  /** HTTP status. Differs from that of the code for `internal_error`, which may be any 5xx. */
  readonly status: number
  /** Additional response headers, for example `Retry-After`. */
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

/**
 * Returns a 503 refusal: the service is starting, draining or overloaded, or the database is unavailable.
 * `details` name the cause.
 */
export function unavailable(message: string, details: Details): Refusal<'internal_error'> {
  return { ...refuse('internal_error', message, details, { 'retry-after': '1' }), status: 503 }
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && refused in value
}

/** Error body of the API. */
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

/** Refuses a request that comes too early. A header and `details` contain the seconds to wait. */
export function tooEarly(message: string, seconds: number, details: Details = {}): Refusal<'rate_limited'> {
  const wait = Math.max(1, Math.ceil(seconds))
  return refuse(
    'rate_limited',
    message,
    { ...details, retry_after_seconds: wait },
    { 'retry-after': String(wait) },
  )
}
