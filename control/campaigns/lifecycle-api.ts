import { z } from 'zod'
import type { Actor } from '../api/actor.js'
import type { RecordChange } from '../api/audited.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Trx } from '../db/database.js'
import type { CampaignRow, CampaignStatus } from '../db/tables/campaigns.js'
import { wakeJob } from '../jobs/wake.js'
import { diallerJob } from '../recipients/dialler-job.js'
import { launchChange, launchRefusal } from './launch.js'
import { pauseCampaign, resumeCampaign, stopCampaign } from './moves.js'
import { runPreflight } from './preflight.js'
import { changeCampaign, findCampaign } from './store.js'
import { findTarget } from './target.js'
import {
  Campaign,
  CampaignPath,
  type CampaignView,
  type CampaignWithTarget,
  campaignView,
  noCampaign,
} from './view.js'

const Empty = z.strictObject({}).optional()

interface MoveInput {
  readonly params: { readonly id: string }
  readonly deps: Deps
  readonly actor: Actor
  readonly requestId: string
}

/**
 * Moves a campaign: nothing happens if it is `already` so. The move, its audit entry and the wake-up of the
 * dialler are one transaction.
 */
async function moved(
  { params, deps, actor, requestId }: MoveInput,
  already: (campaign: CampaignRow) => boolean,
  action: string,
  move: (trx: Trx, campaign: CampaignWithTarget, now: number) => Promise<CampaignRow | null>,
): Promise<CampaignView | Refusal> {
  const campaign = await findCampaign(deps.db, actor, params.id)
  if (campaign === null) return noCampaign()
  if (already(campaign)) return campaignView(campaign)
  const after = await audited({ deps, actor, requestId }, async (trx, record: RecordChange, now) => {
    if ((await move(trx, campaign, now)) === null) return null
    await record(`campaign.${action}`, campaign.id)
    await wakeJob(trx, diallerJob(actor), now)
    return findCampaign(trx, actor, campaign.id)
  })
  if (after !== null) return campaignView(after)
  const { status } = (await findCampaign(deps.db, actor, params.id)) ?? campaign
  return refuse('conflict', `A campaign that is ${status} cannot be ${action}.`, { status })
}

function isOneOf(...states: readonly CampaignStatus[]): (campaign: CampaignRow) => boolean {
  return ({ status }) => states.includes(status)
}

/** Returns true if a campaign is paused and does not resume by itself. */
function stays({ status, resumesAt }: CampaignRow): boolean {
  return status === 'paused' && resumesAt === null
}

const preflight = operation({
  id: 'preflightCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/preflight',
  tag: 'Campaigns',
  summary: 'Check a campaign before its launch',
  description:
    'Examines the agent, the number, the hours, the legal requirements and every recipient, and estimates cost and ' +
    'end. The result is kept in `preflight` and computed again at launch. No look-up that costs money is bought.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  body: Empty,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const { status, agentGone: _agent, numberGone: _number, ...row } = campaign
    const closed = () => refuse('conflict', `A campaign that is ${status} has no pre-flight.`, { status })
    if (status !== 'draft' && status !== 'paused' && status !== 'scheduled') return closed()
    const { view } = await runPreflight(deps, { ...row, status })
    const after = await deps.db.transaction().execute(async (trx) => {
      const change = { preflight: JSON.stringify(view) }
      const now = deps.clock.wall()
      if ((await changeCampaign(trx, actor, row.id, [status], change, now)) === null) return null
      return findCampaign(trx, actor, row.id)
    })
    return after === null ? closed() : campaignView(after)
  },
})

const launch = operation({
  id: 'launchCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/launch',
  tag: 'Campaigns',
  summary: 'Launch a campaign',
  description:
    'Runs the pre-flight again. The campaign runs, or is scheduled if startsAt is in the future. Every call uses the ' +
    'version of the agent that is published now.',
  audience: 'key',
  scope: 'write',
  idempotent: 'required',
  params: CampaignPath,
  body: z.strictObject({}),
  status: 200,
  result: Campaign,
  fails: [
    'not_found',
    'conflict',
    'unprocessable_entity',
    'compliance_incomplete',
    'knowledge_base_not_ready',
  ],
  run: async ({ params, actor, deps, requestId, idempotencyId }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    // The same request has launched the campaign before, and its answer was lost.
    if (idempotencyId !== null && campaign.launchRequestId === idempotencyId) return campaignView(campaign)
    const { status, agentGone: _agent, numberGone: _number, ...row } = campaign
    const again = (status: string) => refuse('conflict', 'Only a draft can be launched.', { status })
    if (status !== 'draft') return again(status)
    const made = await runPreflight(deps, { ...row, status })
    const refusal = launchRefusal(made, actor.environment)
    if (refusal !== null) return refusal
    const after = await audited({ deps, actor, requestId }, async (trx, record, now) => {
      const change = launchChange(row, made, idempotencyId, now)
      // An upload that came after the pre-flight was not examined.
      const unchanged = await trx
        .selectFrom('campaigns')
        .select('id')
        .where('id', '=', row.id)
        .where('uploaded', '=', row.uploaded)
        .where('updatedAt', '=', row.updatedAt)
        .where('importId', 'is', null)
        .executeTakeFirst()
      if (unchanged === undefined) return null
      if ((await changeCampaign(trx, actor, row.id, ['draft'], change)) === null) return null
      await record('campaign.launched', row.id)
      await wakeJob(trx, diallerJob(actor), now)
      return findCampaign(trx, actor, row.id)
    })
    if (after !== null) return campaignView(after)
    const now = await findCampaign(deps.db, actor, row.id)
    return now?.status === 'draft'
      ? refuse('conflict', 'The campaign has changed since you read it. Launch it again.', { status })
      : again(now?.status ?? status)
  },
})

const pause = operation({
  id: 'pauseCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/pause',
  tag: 'Campaigns',
  summary: 'Pause a campaign',
  description:
    'Calls that are under way go on. A campaign that was paused for `carrier_errors` or `service_errors` does not resume by itself any more.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  body: Empty,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: (input) =>
    moved(input, stays, 'paused', (trx, campaign, now) => pauseCampaign(trx, campaign, 'operator', now)),
})

const resume = operation({
  id: 'resumeCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/resume',
  tag: 'Campaigns',
  summary: 'Resume a paused campaign',
  description:
    'Continues with the version of the agent that was launched. Does nothing if the campaign runs or is scheduled.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  body: Empty,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: async (input) => {
    const { params, deps, actor } = input
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign?.status === 'paused') {
      const target = await findTarget(deps, campaign)
      if ('problem' in target) {
        return refuse('conflict', `${target.problem} Correct it before you resume.`, { status: 'paused' })
      }
    }
    return moved(input, isOneOf('running', 'scheduled'), 'resumed', resumeCampaign)
  },
})

const stop = operation({
  id: 'stopCampaign',
  method: 'post',
  path: '/v1/campaigns/:id/stop',
  tag: 'Campaigns',
  summary: 'Stop a campaign for good',
  description:
    'Recipients that wait are abandoned, and calls that are under way go on. Does nothing if the campaign is stopped.',
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  body: Empty,
  status: 200,
  result: Campaign,
  fails: ['not_found', 'conflict'],
  run: (input) => moved(input, isOneOf('stopped'), 'stopped', stopCampaign),
})

export const lifecycleOperations = [preflight, launch, pause, resume, stop]
