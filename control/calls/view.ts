import { z } from 'zod'
import type { BotStats } from '../../media/byo/bot-event.js'
import { openEnum, Timestamp, timestampOrNull } from '../base/schemas.js'
import type { CallWithParts } from './store.js'
import { latestTransfer, Transfer } from './transfers/attempt-view.js'

const Texts = z.record(z.string(), z.string())

/** Reasons for which a result lacks answers. `model_cannot_answer` is stored with the result. */
export const RESULT_GAPS = ['pending', 'model_cannot_answer', 'model_failed'] as const

export const Charge = z.object({
  kind: openEnum('agent', 'fallback', 'human').meta({
    description: '`fallback`: the agent that took over from a lost bot.',
  }),
  seconds: z.int(),
  ratePaisePerMinute: z.int(),
  amountPaise: z.int(),
})

export const Latency = z.object({
  firstAudioMs: z.int().nullable(),
  turnP50Ms: z.int().nullable(),
  turnP95Ms: z.int().nullable(),
})

const MS = (description: string) => z.int().meta({ description })

export const Bot = z.object({
  underruns: z
    .int()
    .meta({ description: 'Number of playout gaps because audio of the bot arrived too late.' }),
  droppedInMs: MS('Audio of the caller (ms) that was dropped because the bot did not read it in time.'),
  droppedOutMs: MS('Audio of the bot (ms) that was dropped because more than 300 s was queued.'),
  trimmedMs: MS('Late audio of the bot (ms) that was skipped to catch up.'),
  marks: z.int(),
  errors: z.int().meta({ description: 'Number of invalid messages from the bot.' }),
  closeCode: z
    .int()
    .nullable()
    .meta({ description: 'WebSocket close code of the bot. Null if the bot did not close the connection.' }),
})

export const Call = z.object({
  id: z.string(),
  environment: z.enum(['test', 'live']),
  direction: z.enum(['outbound', 'inbound']),
  status: openEnum('queued', 'initiated', 'ringing', 'in_progress', 'ended'),
  disposition: openEnum('answered', 'failed', 'no_answer', 'busy', 'voicemail', 'unknown').nullable(),
  endedReason: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  numberId: z.string(),
  agentId: z.string().nullable(),
  agentVersion: z.int().nullable(),
  agentVersionId: z.string().nullable(),
  routingMode: openEnum('svc_agent', 'byo_ws', 'byo_sip'),
  purpose: z.string(),
  campaignId: z.string().nullable(),
  recipientId: z.string().nullable(),
  startedAt: Timestamp.nullable(),
  ringingAt: Timestamp.nullable(),
  answeredAt: Timestamp.nullable(),
  endedAt: Timestamp.nullable(),
  answeredBy: openEnum('human', 'voicemail', 'screening', 'unknown').nullable(),
  durationSeconds: z.int().nullable(),
  agentSeconds: z.int(),
  humanSeconds: z.int(),
  ratePaisePerMinute: z.int(),
  charges: z.array(Charge),
  billedPaise: z.int(),
  variables: Texts,
  metadata: Texts,
  summary: z.string().nullable(),
  outputs: z.record(z.string(), z.json()),
  evaluation: z.array(
    z.object({ id: z.string(), name: z.string(), passed: z.boolean(), reason: z.string() }),
  ),
  resultGap: openEnum(...RESULT_GAPS)
    .nullable()
    .meta({
      description:
        'Why outputs are null or criteria are missing: the result is pending, the model of the agent cannot read ' +
        'transcripts (the sandbox model), or it failed. Null when the model has answered or nothing was asked.',
    }),
  transfer: Transfer.nullable().meta({ description: 'Latest transfer attempt. Null if none was made.' }),
  hasRecording: z.boolean(),
  hasTranscript: z.boolean(),
  complianceRunId: z.string().nullable(),
  evidenceId: z.string().nullable(),
  latency: Latency.nullable(),
  bot: Bot.nullable().meta({
    description: 'Statistics of the customer’s own bot. Null for other calls and until the call has ended.',
  }),
  error: z.string().nullable(),
  createdAt: Timestamp,
})
export type CallView = z.input<typeof Call>

/** Returns a call as the API and its events show it. */
export function callView(row: CallWithParts): CallView {
  return {
    id: row.id,
    environment: row.environment,
    direction: row.direction,
    status: row.status,
    disposition: row.disposition,
    endedReason: row.endedReason,
    from: row.fromNumber,
    to: row.toNumber,
    numberId: row.numberId,
    agentId: row.agentId,
    agentVersion: row.agentVersion,
    agentVersionId: row.agentVersionId,
    routingMode: row.routingMode,
    purpose: row.purpose,
    campaignId: row.campaignId,
    recipientId: row.recipientId,
    startedAt: timestampOrNull(row.startedAt),
    ringingAt: timestampOrNull(row.ringingAt),
    answeredAt: timestampOrNull(row.answeredAt),
    endedAt: timestampOrNull(row.endedAt),
    answeredBy: row.answeredBy,
    durationSeconds: row.endedAt === null ? null : row.agentSeconds + row.humanSeconds,
    agentSeconds: row.agentSeconds,
    humanSeconds: row.humanSeconds,
    ratePaisePerMinute: row.ratePaisePerMinute,
    charges: JSON.parse(row.charges),
    billedPaise: row.billedPaise,
    variables: JSON.parse(row.variables),
    metadata: JSON.parse(row.metadata),
    summary: row.summary,
    outputs: row.outputs === null ? {} : JSON.parse(row.outputs),
    evaluation: row.evaluation === null ? [] : JSON.parse(row.evaluation),
    resultGap: resultGapOf(row),
    transfer: latestTransfer(row.transfer),
    hasRecording: row.hasRecording === 1,
    hasTranscript: row.hasTranscript === 1,
    complianceRunId: row.complianceRunId,
    evidenceId: row.evidenceId,
    latency: row.latency === null ? null : JSON.parse(row.latency),
    bot: botOf(row.botStats),
    error: row.error,
    createdAt: new Date(row.createdAt).toISOString(),
  }
}

function resultGapOf({ resultState, resultError }: CallWithParts): CallView['resultGap'] {
  if (resultState === 'pending') return 'pending'
  if (resultState === 'failed') return 'model_failed'
  return resultError
}

function botOf(body: string | null): CallView['bot'] {
  if (body === null) return null
  const { stats } = JSON.parse(body) as { stats: BotStats }
  const { underruns, droppedInMs, droppedOutMs, trimmedMs, marks, errors, closeCode } = stats
  return { underruns, droppedInMs, droppedOutMs, trimmedMs, marks, errors, closeCode }
}
