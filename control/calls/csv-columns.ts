import type { CsvColumn, CsvValue } from '../base/csv.js'
import type { CallView } from './view.js'

/** Fields of a call in its CSV export, in the order of the columns. */
const FIELDS: readonly (keyof CallView)[] = [
  ...(['id', 'environment', 'direction', 'status', 'disposition', 'endedReason', 'from', 'to'] as const),
  ...([
    'numberId',
    'agentId',
    'agentVersion',
    'routingMode',
    'purpose',
    'campaignId',
    'recipientId',
  ] as const),
  ...(['startedAt', 'ringingAt', 'answeredAt', 'endedAt', 'answeredBy', 'durationSeconds'] as const),
  ...(['agentSeconds', 'humanSeconds', 'ratePaisePerMinute', 'billedPaise', 'summary'] as const),
  ...(['hasRecording', 'hasTranscript', 'variables', 'metadata', 'outputs', 'evaluation'] as const),
  ...(['complianceRunId', 'evidenceId', 'error', 'createdAt'] as const),
]

/** Columns of the CSV export of calls. Objects are cells with JSON. */
export const CALL_COLUMNS: readonly CsvColumn<CallView>[] = FIELDS.map((name) => ({
  name,
  ...(name === 'from' || name === 'to' ? { kind: 'e164' as const } : {}),
  value: (call) => cellValue(call[name]),
}))

function cellValue(value: unknown): CsvValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return value === null || value === undefined ? null : JSON.stringify(value)
}
