import { type ErrorCode, PROBLEMS } from '../api/problem.js'
import { escapeHtml } from '../base/html.js'

/** When a client should retry. Other codes are not worth a retry. */
export const RETRIES: Readonly<Partial<Record<ErrorCode, string>>> = {
  rate_limited: 'Yes, after the seconds in Retry-After.',
  concurrent_call_limit_reached: 'Yes, but only once calls have ended.',
  idempotency_key_in_use: 'Yes, after a short delay.',
  provider_unavailable: 'Yes, with backoff, keeping the same Idempotency-Key.',
  internal_error: 'Yes, with backoff.',
}

/** Content of `details`, for the codes that have any. */
const DETAILS: Readonly<Partial<Record<ErrorCode, string>>> = {
  validation_error: 'issues[]: path and reason of the first 100 fields; issueCount if there are more',
  missing_variables: 'missing[]',
  insufficient_funds: 'balancePaise, minBalancePaise or requiredPaise, onHold',
  blocked_dnd: 'checkType, runId, nextAllowedAt',
  blocked_opt_out: 'checkType, runId, nextAllowedAt',
  blocked_dlt_invalid: 'checkType, runId, nextAllowedAt',
  insufficient_scope: 'required, granted',
  concurrent_call_limit_reached: 'pool, inUse, limit',
  rate_limited: 'retry_after_seconds',
  environment_mismatch: 'path',
  price_changed: 'confirmedTotalPaise, totalPaise',
  compliance_incomplete: 'missing[]',
  knowledge_base_not_ready: 'knowledgeBaseIds[]',
  document_too_large: 'bytes, maxBytes',
  sip_trunk_not_active: 'status',
  sip_trunk_has_numbers: 'count',
  provider_rejected: 'provider, reason',
  provider_unavailable: 'provider',
  provider_quota_exhausted: 'provider',
}

/** Returns the HTML page that the `doc_url` of errors refers to, with one section per code. */
export function errorsPage(): string {
  const codes = Object.keys(PROBLEMS) as ErrorCode[]
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley API errors</title>
<link rel="stylesheet" href="assets/page.css">
<main>
<h1>Errors</h1>
<p>Branch on <code>code</code>, never on <code>message</code>. Codes are added, never renamed: for one you do not
know, go by <code>type</code> and status. Quote <code>request_id</code> when you ask for help.</p>
${codes.map(section).join('')}</main>
</html>
`
}

function section(code: ErrorCode): string {
  const { status, type, when } = PROBLEMS[code]
  const details = DETAILS[code]
  return `<section>
<h2 id="${code}">${code}</h2>
<p>${status}, type <code>${type}</code>. ${escapeHtml(when)}</p>
${details === undefined ? '' : `<p>Details: ${escapeHtml(details)}.</p>\n`}<p>Retry: ${escapeHtml(RETRIES[code] ?? 'No.')}</p>
</section>
`
}
