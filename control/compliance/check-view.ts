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

/** Returns a check as the API and its events show it. */
export function checkView(row: CheckRow): z.input<typeof ComplianceCheck> {
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
    details: JSON.parse(row.details),
    nextAllowedAt: timestampOrNull(row.nextAllowedAt),
    checkedAt: timestamp(row.checkedAt),
  }
}
