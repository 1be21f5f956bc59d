import type { ErrorCode, ErrorType } from './generated/types.js'

/** The error of a refused request. Branch on `code`, for unknown codes on `type` and `status`. */
export class ParleyError extends Error {
  override readonly name = 'ParleyError'
  readonly status: number
  readonly code: ErrorCode
  readonly type: ErrorType
  readonly details: Readonly<Record<string, unknown>>
  /** Quote it when you ask for help. */
  readonly requestId: string | null
  readonly docUrl: string | null
  readonly retryAfterSeconds: number | null

  constructor(message: string, fields: Omit<ParleyError, 'name' | 'message' | 'stack' | 'cause'>) {
    super(message)
    this.status = fields.status
    this.code = fields.code
    this.type = fields.type
    this.details = fields.details
    this.requestId = fields.requestId
    this.docUrl = fields.docUrl
    this.retryAfterSeconds = fields.retryAfterSeconds
  }
}

/** Reads the error of a response that is not 2xx, also of one that a proxy made, without an error envelope. */
export async function readError(response: Response): Promise<ParleyError> {
  const text = await response.text()
  const error = envelopeOf(text)
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const optional = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return new ParleyError(optional(error.message) ?? `The service answered ${response.status}.`, {
    status: response.status,
    code: optional(error.code) ?? 'unknown',
    type: optional(error.type) ?? (response.status >= 500 ? 'server_error' : 'invalid_request'),
    details: isObject(error.details) ? error.details : {},
    requestId: optional(error.request_id) ?? response.headers.get('x-request-id'),
    docUrl: optional(error.doc_url),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  })
}

function envelopeOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && isObject(body.error) ? body.error : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
