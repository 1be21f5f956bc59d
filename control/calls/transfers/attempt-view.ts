import { z } from 'zod'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../../base/schemas.js'
import { billedSeconds } from '../../billing/rating.js'
import type { TransferAttemptRow } from '../../db/tables/transfers.js'

const OptionalTime = Timestamp.nullable()

export const Transfer = z.object({
  id: z.string(),
  attempt: z.int().meta({ description: '1 or 2.' }),
  status: openEnum(
    ...(['accepted', 'ringing', 'answered', 'bridged', 'completed'] as const),
    ...(['missed', 'declined', 'failed', 'canceled'] as const),
  ),
  mode: openEnum('blind', 'screened', 'consult'),
  trigger: openEnum('model', 'api', 'byo', 'dtmf'),
  reason: z.string().nullable(),
  outcome: openEnum(
    ...(['connected', 'no_answer', 'busy', 'declined'] as const),
    ...([
      'caller_hung_up',
      'caller_returned',
      'call_ended',
      'carrier_error',
      'destination_unavailable',
    ] as const),
  ).nullable(),
  brief: z.string().nullable().meta({ description: 'What the person heard before the caller.' }),
  destination: z.object({ label: z.string() }),
  requestedAt: Timestamp,
  acceptedAt: OptionalTime.meta({
    description: 'When the person took the call, on attempts with a briefing.',
  }),
  answeredAt: OptionalTime,
  bridgedAt: OptionalTime,
  endedAt: OptionalTime,
  humanSeconds: z.int(),
  hasRecording: z.boolean(),
  hasReturnRecording: z.boolean(),
})
export type TransferView = z.input<typeof Transfer>

/** An attempt and the parts of it that were recorded. */
export interface TransferAttempt {
  readonly row: TransferAttemptRow
  readonly parts: readonly ('human' | 'return')[]
}

export function transferView({ row, parts }: TransferAttempt): TransferView {
  return {
    id: row.id,
    attempt: row.attempt,
    status: row.status,
    mode: row.mode,
    trigger: row.trigger,
    reason: row.reason,
    outcome: row.outcome,
    brief: row.brief,
    destination: { label: row.label },
    requestedAt: timestamp(row.requestedAt),
    acceptedAt: timestampOrNull(row.acceptedAt),
    answeredAt: timestampOrNull(row.answeredAt),
    bridgedAt: timestampOrNull(row.bridgedAt),
    endedAt: timestampOrNull(row.endedAt),
    humanSeconds:
      row.bridgedAt === null || row.endedAt === null ? 0 : billedSeconds(row.bridgedAt, row.endedAt),
    hasRecording: parts.includes('human'),
    hasReturnRecording: parts.includes('return'),
  }
}

/** Returns the latest attempt as the row of its call holds it. */
export function latestTransfer(stored: string | null): TransferView | null {
  return stored === null ? null : transferView(JSON.parse(stored) as TransferAttempt)
}
