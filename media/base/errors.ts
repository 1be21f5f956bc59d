/**
 * All failures of the engine in one closed list. HTTP problems and SIP responses are looked up by code in
 * their own tables; no code matches on message text.
 */
export type EngineErrorCode =
  | 'config_invalid'
  | 'closed'
  | 'timeout'
  | 'overloaded'
  | 'port_unavailable'
  | 'worker_lost'
  | 'sdp_invalid'
  | 'no_common_codec'
  | 'sip_refused'
  | 'sip_failed'
  | 'permit_invalid'
  | 'permit_lapsed'
  | 'vendor_unreachable'
  | 'vendor_rejected'
  | 'vendor_rate_limited'
  | 'vendor_failed'
  | 'vendor_stalled'
  | 'egress_refused'
  | 'storage_failed'
  | 'database_unavailable'
  | 'internal'

/** The only error that the engine throws. Expected refusals are returned values instead. */
export class EngineError extends Error {
  readonly code: EngineErrorCode
  /** True when the same request may succeed later without a change. */
  readonly retryable: boolean
  /** Values for the log: sizes, names and codes. Never secrets, phone numbers or transcripts. */
  readonly context: Readonly<Record<string, unknown>>

  constructor(
    code: EngineErrorCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown; context?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'EngineError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.context = options.context ?? {}
  }
}

/** Returns the text of any thrown value, for a log line or an `error` field. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
