import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, refuse } from '../api/problem.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { wakeJob } from '../jobs/wake.js'
import { diallerJob } from '../recipients/dialler-job.js'
import { removeRecipients } from '../recipients/store.js'
import { CampaignPatch, isLiveEdit, NewCampaign, newDraft, patchedDraft } from './draft.js'
import { changeCampaign, deleteDraft, findCampaign, insertCampaign, listCampaigns } from './store.js'
import { Campaign, CampaignPath, campaignView, noCampaign } from './view.js'

const createCampaign = operation({
  id: 'createCampaign',
  method: 'post',
  path: '/v1/campaigns',
  tag: 'Campaigns',
  summary: 'Create a campaign',
  description: 'The campaign starts as a draft without recipients.',
  audience: 'key',
  scope: 'write',
  body: NewCampaign,
  status: 201,
  result: Campaign,
  fails: ['not_found', 'environment_mismatch', 'unprocessable_entity'],
  run: async ({ body, actor, deps, requestId }) => {
    const row = await newDraft(deps, actor, body)
    if (isRefusal(row)) return row
    await audited({ deps, actor, requestId }, async (trx, record) => {
      await insertCampaign(trx, row)
      await record('campaign.created', row.id, { after: { name: row.name } })
    })
    return campaignView({ ...row, agentGone: 0, numberGone: 0 })
  },
})

const listCampaignsOperation = listOperation({
  id: 'listCampaigns',
  path: '/v1/campaigns',
  tag: 'Campaigns',
  summary: 'List campaigns',
  description: 'Newest first. Archived campaigns are left out unless `archived` is true.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    archived: z.enum(['true', 'false']).optional(),
    status: z.string().max(40).optional(),
  }),
  result: Campaign,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const filter = { archived: query.archived === 'true', status: query.status }
    const { items, ...rest } = await listCampaigns(deps.db, actor, filter, page)
    return { ...rest, items: items.map(campaignView) }
  },
})

const readCampaign = operation({
  id: 'readCampaign',
  method: 'get',
  path: '/v1/campaigns/:id',
  tag: 'Campaigns',
  summary: 'Get a campaign',
  description: 'Archived campaigns are returned, too.',
  audience: 'key',
  scope: 'read',
  params: CampaignPath,
  status: 200,
  result: Campaign,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findCampaign(deps.db, actor, params.id)
    return row === null ? noCampaign() : campaignView(row)
  },
})

const updateCampaign = operation({
  id: 'updateCampaign',
  method: 'patch',
  path: '/v1/campaigns/:id',
  tag: 'Campaigns',
  summary: 'Update a campaign',
  description:
    'A draft can be changed freely. While a campaign is scheduled or paused, its pacing, autoPauseBelowPaise and ' +
    'schedule.endsAt can be changed.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  body: CampaignPatch,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'environment_mismatch', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const row = await findCampaign(deps.db, actor, params.id)
    if (row === null) return noCampaign()
    const { status, agentGone: _agent, numberGone: _number, ...before } = row
    const open = status === 'draft' || ((status === 'paused' || status === 'scheduled') && isLiveEdit(body))
    if (!open) {
      return refuse('conflict', `The fields cannot be changed while the campaign is ${status}.`, { status })
    }
    const after = await patchedDraft(deps, { status, ...before }, body)
    if (isRefusal(after)) return after
    const changed = await audited({ deps, actor, requestId }, async (trx, record, now) => {
      const found = await changeCampaign(trx, actor, params.id, [status], {
        ...settingsOf(after),
        preflight: status === 'draft' ? null : row.preflight,
        updatedAt: now,
      })
      if (found !== null) {
        await record('campaign.updated', row.id, { before: settingsOf(row), after: settingsOf(after) })
        // The dialler sleeps until the end that it knew.
        if (status !== 'draft') await wakeJob(trx, diallerJob(actor), now)
      }
      return found === null ? null : findCampaign(trx, actor, params.id)
    })
    if (changed !== null) return campaignView(changed)
    return refuse('conflict', 'The campaign has changed since you read it. Read it again.', { status })
  },
})

const deleteCampaign = operation({
  id: 'deleteCampaign',
  method: 'delete',
  path: '/v1/campaigns/:id',
  tag: 'Campaigns',
  summary: 'Delete a draft',
  description: 'Deletes the recipients of the draft, too. Other campaigns can be archived.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }) => {
    const row = await findCampaign(deps.db, actor, params.id)
    if (row === null) return noCampaign()
    const { status } = row
    const deleted = await audited({ deps, actor, requestId }, async (trx, record, now) => {
      // Keeps a launch and an import out.
      if ((await changeCampaign(trx, actor, row.id, ['draft'], { updatedAt: now })) === null) return false
      await removeRecipients(trx, actor, row.id)
      await record('campaign.deleted', row.id, { before: { name: row.name } })
      return deleteDraft(trx, actor, row.id)
    })
    return deleted
      ? undefined
      : refuse('conflict', 'Only a draft can be deleted. Archive the campaign.', { status })
  },
})

/** Settings that a PATCH can change, as columns. */
function settingsOf(row: CampaignRow) {
  const { name, agentId, agentName, numberId, numberE164, autoPauseBelowPaise } = row
  const { callsPerMinute, maxConcurrent, attempts, backoff, intervalMinutes, retryOn } = row
  const { startsAt, endsAt, weekdays, windowStartMinute, windowEndMinute } = row
  return {
    ...{ name, agentId, agentName, numberId, numberE164, autoPauseBelowPaise },
    ...{ callsPerMinute, maxConcurrent, attempts, backoff, intervalMinutes, retryOn },
    ...{ startsAt, endsAt, weekdays, windowStartMinute, windowEndMinute },
  }
}

export const campaignOperations = [
  createCampaign,
  listCampaignsOperation,
  readCampaign,
  updateCampaign,
  deleteCampaign,
]
