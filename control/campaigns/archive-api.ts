import type { Actor } from '../api/actor.js'
import { audited } from '../api/audited.js'
import { operation } from '../api/operation.js'
import type { Input } from '../api/operation-spec.js'
import { refuse } from '../api/problem.js'
import type { CampaignStatus } from '../db/tables/campaigns.js'
import { changeCampaign, findCampaign } from './store.js'
import { Campaign, CampaignPath, campaignView, noCampaign } from './view.js'

const ARCHIVABLE: readonly CampaignStatus[] = ['draft', 'completed', 'stopped', 'failed']

type ArchiveInput = Pick<Input<{ id: string }, unknown, unknown, 'key'>, 'params' | 'deps' | 'requestId'> & {
  readonly actor: Actor
}

async function setArchived({ params, actor, deps, requestId }: ArchiveInput, archived: boolean) {
  const row = await findCampaign(deps.db, actor, params.id)
  if (row === null) return noCampaign()
  if (archived && !ARCHIVABLE.includes(row.status)) {
    return refuse('conflict', 'Stop the campaign before you archive it.', { status: row.status })
  }
  if ((row.archivedAt !== null) === archived) return campaignView(row)
  const after = await audited({ deps, actor, requestId }, async (trx, record, now) => {
    const change = { archivedAt: archived ? now : null }
    const found = await changeCampaign(trx, actor, row.id, archived ? ARCHIVABLE : [row.status], change)
    if (found === null) return null
    await record(archived ? 'campaign.archived' : 'campaign.unarchived', row.id)
    return findCampaign(trx, actor, row.id)
  })
  return after === null
    ? refuse('conflict', 'The campaign has changed since you read it. Read it again.', { status: row.status })
    : campaignView(after)
}

const archive = operation({
  id: 'archiveCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/archive',
  tag: 'Campaigns',
  summary: 'Archive a campaign',
  description: 'Hides a draft or an ended campaign from the list. Does nothing if it is archived already.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: (input) => setArchived(input, true),
})

const unarchive = operation({
  id: 'unarchiveCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/unarchive',
  tag: 'Campaigns',
  summary: 'Show an archived campaign in the list again',
  description: 'Changes nothing else. Does nothing if the campaign is not archived.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: (input) => setArchived(input, false),
})

export const archiveOperations = [archive, unarchive]
