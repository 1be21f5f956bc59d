import { z } from 'zod'
import { refuse } from '../api/problem.js'
import { idParam, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import {
  CAMPAIGN_STATUSES,
  type CampaignRow,
  PAUSED_REASONS,
  RECIPIENT_STATUSES,
  type RecipientRow,
} from '../db/tables/campaigns.js'

export const CampaignPath = z.object({ id: idParam('cmp') })
export const RecipientPath = z.object({ id: idParam('cmp'), recipientId: idParam('rcp') })
export const noCampaign = () => refuse('not_found', 'The campaign does not exist.')

export const BACKOFFS = ['linear', 'exponential'] as const
/** Dispositions after which a recipient can be dialled again. */
export const RETRY_ON = ['answered', 'no_answer', 'busy', 'failed', 'voicemail', 'unknown'] as const
/** Why a recipient may not be called. */
export const EXCLUDED_REASONS = [
  ...(['suppressed', 'dnd_register', 'missing_consent', 'outside_window'] as const),
  ...(['frequency_cap', 'missing_variables', 'invalid_number', 'trunk_prefix'] as const),
  'service_errors',
] as const
export type ExcludedReason = (typeof EXCLUDED_REASONS)[number]

const Preflight = z.object({
  callable: z.int(),
  checks: z.array(
    z.object({ type: z.string(), outcome: openEnum('pass', 'warn', 'block'), reason: z.string() }),
  ),
  computedAt: Timestamp,
  estimatedCostPaise: z.object({ low: z.int(), high: z.int() }),
  estimatedFinish: z
    .object({ low: Timestamp.nullable(), likely: Timestamp.nullable(), high: Timestamp.nullable() })
    .meta({
      description:
        'When the last recipient settles if the campaign starts now or at startsAt. Null if that takes more than a year.',
    }),
  excluded: z
    .record(z.string(), z.int())
    .meta({ description: 'Number of recipients that cannot be called, by reason.' }),
  excludedE164s: z
    .record(z.string(), z.array(z.string()))
    .meta({ description: 'The first 100 numbers by reason.' }),
  total: z.int(),
  walletBalancePaise: z.int(),
})
export type PreflightView = z.input<typeof Preflight>

export const Campaign = z.object({
  id: z.string(),
  name: z.string(),
  environment: z.enum(['test', 'live']),
  status: openEnum(...CAMPAIGN_STATUSES),
  pausedReason: openEnum(...PAUSED_REASONS).nullable(),
  resumesAt: Timestamp.nullable().meta({
    description:
      'When a campaign that was paused for `carrier_errors` or `service_errors` tries one call. Null otherwise.',
  }),
  failureReason: z.string().nullable(),
  agent: z.object({ id: z.string().nullable(), name: z.string().nullable() }),
  agentVersion: z.int().nullable().meta({ description: 'Version that every call uses. Null until launch.' }),
  number: z.object({ id: z.string().nullable(), e164: z.string().nullable() }),
  purpose: z.string().nullable(),
  autoPauseBelowPaise: z.int(),
  pacing: z.object({ callsPerMinute: z.int(), maxConcurrent: z.int() }),
  retries: z.object({
    attempts: z.int().meta({ description: 'Most dials per recipient.' }),
    backoff: openEnum(...BACKOFFS),
    intervalMinutes: z.int(),
    on: z.array(z.string()),
  }),
  schedule: z.object({
    startsAt: Timestamp.nullable(),
    endsAt: Timestamp.nullable(),
    weekdays: z.int().meta({ description: 'Bit mask of 7 days. Monday is bit 0.' }),
    windowStartMinute: z.int().meta({ description: 'Minutes after midnight in India.' }),
    windowEndMinute: z.int().meta({ description: 'Minutes after midnight in India.' }),
  }),
  progress: z.object({
    total: z.int(),
    dialed: z.int().meta({ description: 'Recipients that were dialled at least once.' }),
    connected: z.int(),
    excluded: z.int(),
    settled: z
      .int()
      .meta({ description: 'Recipients that are not dialled any more, excluded ones included.' }),
    spentPaise: z.int(),
    lateAgentSound: z
      .int()
      .meta({ description: 'Answered calls on which the agent was not heard within 2 seconds.' }),
  }),
  preflight: Preflight.nullable(),
  launchedAt: Timestamp.nullable(),
  completedAt: Timestamp.nullable(),
  archivedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type CampaignView = z.input<typeof Campaign>

/** A campaign with what remains of its agent and its number. */
export interface CampaignWithTarget extends CampaignRow {
  /** 1 once the agent is deleted, or the number is released. */
  readonly agentGone: number
  readonly numberGone: number
}

/** Returns a campaign as the API and its events show it. */
export function campaignView(row: CampaignWithTarget): CampaignView {
  return {
    id: row.id,
    name: row.name,
    environment: row.environment,
    status: row.status,
    pausedReason: row.pausedReason,
    resumesAt: timestampOrNull(row.resumesAt),
    failureReason: row.failureReason,
    agent: { id: row.agentGone === 1 ? null : row.agentId, name: row.agentName },
    agentVersion: row.agentVersion,
    number: { id: row.numberGone === 1 ? null : row.numberId, e164: row.numberE164 },
    purpose: row.purpose,
    autoPauseBelowPaise: row.autoPauseBelowPaise,
    pacing: { callsPerMinute: row.callsPerMinute, maxConcurrent: row.maxConcurrent },
    retries: {
      attempts: row.attempts,
      backoff: row.backoff,
      intervalMinutes: row.intervalMinutes,
      on: JSON.parse(row.retryOn),
    },
    schedule: {
      startsAt: timestampOrNull(row.startsAt),
      endsAt: timestampOrNull(row.endsAt),
      weekdays: row.weekdays,
      windowStartMinute: row.windowStartMinute,
      windowEndMinute: row.windowEndMinute,
    },
    progress: {
      total: row.total,
      dialed: row.dialed,
      connected: row.connected,
      excluded: row.excluded,
      settled: row.settled,
      spentPaise: row.spentPaise,
      lateAgentSound: row.lateAgentSound,
    },
    preflight: row.preflight === null ? null : JSON.parse(row.preflight),
    launchedAt: timestampOrNull(row.launchedAt),
    completedAt: timestampOrNull(row.completedAt),
    archivedAt: timestampOrNull(row.archivedAt),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

export const Recipient = z.object({
  id: z.string(),
  campaignId: z.string(),
  e164: z.string(),
  externalId: z.string().nullable(),
  variables: z.record(z.string(), z.string()),
  status: openEnum(...RECIPIENT_STATUSES),
  outcome: openEnum(...RETRY_ON, 'excluded', 'abandoned')
    .nullable()
    .meta({ description: 'Disposition of the last call, `excluded` or `abandoned`.' }),
  excludedReason: openEnum(...EXCLUDED_REASONS).nullable(),
  attempts: z.int(),
  nextAttemptAt: Timestamp.nullable(),
  lastAttemptAt: Timestamp.nullable(),
  lastCallId: z.string().nullable(),
  spentPaise: z.int(),
  outputs: z.record(z.string(), z.json()).meta({ description: 'Outputs of the last call.' }),
  createdAt: Timestamp,
  settledAt: Timestamp.nullable(),
})
export type RecipientView = z.input<typeof Recipient>

/** Returns a recipient as the API shows it. `outputs` is the JSON text of its last call's outputs, or null. */
export function recipientView(row: RecipientRow, outputs: string | null): RecipientView {
  const waits = row.status === 'pending' || row.status === 'retry_wait'
  return {
    id: row.id,
    campaignId: row.campaignId,
    e164: row.e164,
    externalId: row.externalId,
    variables: JSON.parse(row.variables),
    status: row.status,
    outcome: row.outcome,
    excludedReason: row.excludedReason,
    attempts: row.attempts,
    nextAttemptAt: waits && row.nextAttemptAt > 0 ? timestamp(row.nextAttemptAt) : null,
    lastAttemptAt: timestampOrNull(row.lastAttemptAt),
    lastCallId: row.lastCallId,
    spentPaise: row.spentPaise,
    outputs: outputs === null ? {} : JSON.parse(outputs),
    createdAt: timestamp(row.createdAt),
    settledAt: timestampOrNull(row.settledAt),
  }
}
