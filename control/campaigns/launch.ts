import { type Refusal, refuse } from '../api/problem.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import type { Preflight } from './preflight.js'
import { purposeOf, speaksFirst } from './target.js'

/** Checks of the pre-flight that stand for legal requirements of live calls. */
const LEGAL: ReadonlySet<string> = new Set([
  'verification',
  'sender_registration',
  'robocall_declaration',
  'enforcement',
])

/** The part of the campaign that a blocking check concerns. */
const PATHS: Readonly<Record<string, string>> = {
  agent_published: 'agentId',
  number_active: 'numberId',
  calling_window: 'schedule',
  retry_tail: 'retries',
}

/** Returns why a campaign cannot be launched after its pre-flight, or null if it can. */
export function launchRefusal({ view }: Preflight, environment: 'test' | 'live'): Refusal | null {
  const blocks = view.checks.filter(({ outcome }) => outcome === 'block')
  const legal = blocks.filter(({ type }) => LEGAL.has(type))
  if (environment === 'live' && legal.length > 0) {
    const missing = legal.map(({ type }) => type)
    return refuse('compliance_incomplete', `Live campaigns first require: ${missing.join(', ')}.`, {
      missing,
    })
  }
  if (blocks.some(({ type }) => type === 'knowledge_base')) {
    return refuse('knowledge_base_not_ready', 'A knowledge base of the agent is not built.')
  }
  const [first] = blocks
  if (first !== undefined) {
    const path = PATHS[first.type] ?? 'agentId'
    return refuse(
      'unprocessable_entity',
      `The pre-flight refuses the launch: ${first.type} (${first.reason}).`,
      {
        path,
        checks: blocks,
      },
    )
  }
  if (view.callable > 0) return null
  return refuse('unprocessable_entity', 'No recipient can be called.', {
    path: 'recipients',
    excluded: view.excluded,
  })
}

/** Returns the change that launches a campaign with what its pre-flight found. */
export function launchChange(
  campaign: Pick<CampaignRow, 'startsAt'>,
  { target, view }: Preflight,
  launchRequestId: string | null,
  now: number,
): Partial<CampaignRow> {
  if ('problem' in target) throw new Error(target.problem)
  const { agentName, version, number } = target
  return {
    status: campaign.startsAt !== null && campaign.startsAt > now ? 'scheduled' : 'running',
    agentName,
    agentVersion: version.version,
    speaksFirst: speaksFirst(version) ? 1 : 0,
    numberE164: number.e164,
    purpose: purposeOf(version),
    preflight: JSON.stringify(view),
    launchedAt: now,
    launchRequestId,
    updatedAt: now,
    countedAt: now,
  }
}
