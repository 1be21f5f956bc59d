import { z } from 'zod'
import { csvOperation, listOperation, operation } from '../api/operation.js'
import { allPages } from '../api/pagination.js'
import type { CsvColumn } from '../base/csv.js'
import { ComplianceCheck, checkView } from '../compliance/check-view.js'
import type { RecipientRow } from '../db/tables/campaigns.js'
import { listRecipients } from '../recipients/store.js'
import {
  averageDuration,
  groupOutcomes,
  listCampaignChecks,
  outputsOfCalls,
  summarizeResults,
} from './outcomes-store.js'
import { findCampaign } from './store.js'
import { CampaignPath, noCampaign, type RecipientView, recipientView } from './view.js'

const Counts = z.record(z.string(), z.int())

const Outcomes = z.object({
  byDisposition: Counts.meta({ description: 'Settled recipients by outcome, without excluded ones.' }),
  byExcludedReason: Counts,
  outputs: z.record(z.string(), Counts).meta({
    description: 'Values of each output over all calls. Rare values of many are counted as `other`.',
  }),
  evaluation: z.array(z.object({ id: z.string(), name: z.string(), passed: z.int(), failed: z.int() })),
  spentPaise: z.int(),
  averageDurationSeconds: z.number().nullable(),
  attemptsHistogram: Counts.meta({ description: 'Recipients by number of attempts.' }),
  lateAgentSound: z
    .int()
    .meta({ description: 'Answered calls on which the agent was not heard within 2 seconds.' }),
})

const readOutcomes = operation({
  id: 'readCampaignOutcomes',
  method: 'get',
  path: '/v1/campaigns/:id/outcomes',
  tag: 'Campaigns',
  summary: 'Get the outcomes of a campaign',
  description: 'Counted from the recipients and the results of their calls at the time of the request.',
  audience: 'key',
  scope: 'read',
  params: CampaignPath,
  status: 200,
  result: Outcomes,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const byDisposition: Record<string, number> = {}
    const byExcludedReason: Record<string, number> = {}
    const attemptsHistogram: Record<string, number> = {}
    const add = (counts: Record<string, number>, name: string, by: number) => {
      counts[name] = (counts[name] ?? 0) + by
    }
    for (const group of await groupOutcomes(deps.reads, campaign)) {
      const { outcome, excludedReason, attempts, recipients, settled } = group
      add(attemptsHistogram, String(attempts), recipients)
      if (excludedReason !== null) add(byExcludedReason, excludedReason, recipients)
      if (settled === 1 && outcome !== null && outcome !== 'excluded') add(byDisposition, outcome, recipients)
    }
    return {
      byDisposition,
      byExcludedReason,
      ...(await summarizeResults(deps.reads, actor, campaign.id)),
      spentPaise: campaign.spentPaise,
      averageDurationSeconds: await averageDuration(deps.reads, actor, campaign.id),
      attemptsHistogram,
      lateAgentSound: campaign.lateAgentSound,
    }
  },
})

const FIELDS: readonly (keyof RecipientView)[] = [
  ...([
    'id',
    'e164',
    'externalId',
    'status',
    'outcome',
    'excludedReason',
    'attempts',
    'lastAttemptAt',
  ] as const),
  ...(['lastCallId', 'spentPaise', 'variables', 'outputs', 'createdAt', 'settledAt'] as const),
]
const COLUMNS: readonly CsvColumn<RecipientView>[] = FIELDS.map((name) => ({
  name,
  ...(name === 'e164' ? { kind: 'e164' as const } : {}),
  value: (row) => {
    const value = row[name] ?? null
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  },
}))

interface OutcomeRow {
  readonly row: RecipientRow
  readonly outputs: string | null
}

const exportOutcomes = csvOperation({
  id: 'exportCampaignOutcomes',
  path: '/v1/campaigns/:id/outcomes/export.csv',
  tag: 'Campaigns',
  summary: 'Download the recipients with their outcomes as CSV',
  description: 'In the order of upload. Objects are cells with JSON.',
  audience: 'key',
  scope: 'read',
  params: CampaignPath,
  columns: COLUMNS,
  view: ({ row, outputs }: OutcomeRow) => recipientView(row, outputs),
  fileName: 'outcomes.csv',
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    return allPages(async (page) => {
      const { items, next } = await listRecipients(deps.reads, campaign, {}, page)
      const ids = items.map(({ lastCallId }) => lastCallId)
      const outputs = await outputsOfCalls(deps.reads, actor, ids)
      return {
        items: items.map((row) => ({ row, outputs: outputs.get(row.lastCallId ?? '') ?? null })),
        next,
      }
    })
  },
})

const listChecks = listOperation({
  id: 'listCampaignChecks',
  path: '/v1/campaigns/:id/compliance',
  tag: 'Campaigns',
  summary: 'List the compliance checks of a campaign',
  description: 'Newest first: the checks of every dial, and those that refused recipients in the pre-flight.',
  audience: 'key',
  scope: 'read',
  params: CampaignPath,
  result: ComplianceCheck,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const { items, ...rest } = await listCampaignChecks(deps.reads, actor, campaign.id, page)
    return { ...rest, items: items.map(checkView) }
  },
})

export const outcomeOperations = [readOutcomes, exportOutcomes, listChecks]
