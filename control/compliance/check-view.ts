import { z } from 'zod'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { CheckRow } from '../db/tables/calling.js'
import { CHECK_TYPES, GATE_TRIGGERS } from './check.js'

export const ComplianceCheck = z.object({
  id: z.string(),
  runId: z.string(),
  type: openEnum(...CHECK_TYPES),
  outcome: openEnum('pass', 'warn', 'block', 'skipped'),
  code: z.string().nullable(),
  reason: z.string(),
  message: z.string(),
  e164: z.string(),
  purpose: z.string(),
  environment: z.enum(['test', 'live']),
  trigger: openEnum(...GATE_TRIGGERS),
  callId: z.string().nullable(),
  campaignId: z.string().nullable(),
  recipientId: z.string().nullable(),
  source: z.string().nullable(),
  details: z.record(z.string(), z.json()),
  nextAllowedAt: Timestamp.nullable(),
  checkedAt: Timestamp,
})

type View = z.input<typeof ComplianceCheck>

/** Returns a check as the API and its events show it. */
export function checkView(row: CheckRow): View {
  return viewOf(row, JSON.parse(row.details))
}

/** Returns the same as JSON text. The details are stored as such a text. */
export function checkText(row: CheckRow): string {
  // Within a text the quotation marks would be escaped.
  return JSON.stringify(viewOf(row, {})).replace('"details":{}', () => `"details":${row.details}`)
}

function viewOf(row: CheckRow, details: View['details']): View {
  return {
    id: row.id,
    runId: row.runId,
    type: row.type,
    outcome: row.outcome,
    code: row.code,
    reason: row.reason,
    message: row.message,
    e164: row.e164,
    purpose: row.purpose,
    environment: row.environment,
    trigger: row.trigger,
    callId: row.callId,
    campaignId: row.campaignId,
    recipientId: row.recipientId,
    source: row.source,
    details,
    nextAllowedAt: timestampOrNull(row.nextAllowedAt),
    checkedAt: timestamp(row.checkedAt),
  }
}
