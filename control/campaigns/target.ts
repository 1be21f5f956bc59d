import { readVersionConfig } from '../agents/config.js'
import { environmentProblem } from '../agents/live-models.js'
import { asPurpose, findAgent, findVersion } from '../agents/store.js'
import type { Deps } from '../api/deps.js'
import { isRefusal } from '../api/problem.js'
import { type OutboundRoute, outboundRoute } from '../calls/placement/outbound-route.js'
import { type CallingWindow, hoursOn, type Purpose } from '../compliance/calling-hours.js'
import type { Policy } from '../config/policy-file.js'
import type { Db } from '../db/database.js'
import type { AgentVersionRow, NumberRow } from '../db/tables/calling.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { findNumber } from '../numbers/store.js'
import { type DialWindow, lawfulWindow } from './dial-window.js'

type TargetDeps = Pick<Deps, 'db' | 'clock' | 'egress' | 'rootKey' | 'sandboxGateway'>

/** The hours to which an organization narrows its calls (minutes after midnight IST). */
export type Narrowing = Pick<CallingWindow, 'startMinute' | 'endMinute'>

/** Agent, number and route with which a campaign calls. */
export interface Target {
  readonly agentName: string
  readonly version: AgentVersionRow
  readonly number: NumberRow
  readonly route: OutboundRoute
}

/** Why a campaign cannot call. */
export interface TargetProblem {
  readonly part: 'agent' | 'number'
  readonly problem: string
  /** True if it may pass by itself: no registration, or a name that does not resolve now. */
  readonly mayPass?: boolean
}

/** Returns the agent, the number and the route of a campaign, or why they cannot call. */
export async function findTarget(deps: TargetDeps, campaign: CampaignRow): Promise<Target | TargetProblem> {
  const { db } = deps
  const agent = await findAgent(db, campaign.organizationId, campaign.agentId)
  if (agent === null) return { part: 'agent', problem: 'The agent was deleted.' }
  const wanted = campaign.agentVersion ?? agent.publishedVersion
  const version = wanted === null ? null : await findVersion(db, campaign.organizationId, agent.id, wanted)
  if (version === null) return { part: 'agent', problem: 'The agent has no published version.' }
  const unfit = environmentProblem(campaign.environment, version)
  if (unfit !== null) return { part: 'agent', problem: unfit.message }
  const number = await findNumber(db, campaign, campaign.numberId)
  if (number === null) return { part: 'number', problem: 'The number was released.' }
  if (number.status !== 'active') return { part: 'number', problem: 'The number is not active.' }
  if (number.routingMode !== 'svc_agent') {
    return { part: 'number', problem: 'The number is not routed to an agent.' }
  }
  const route = await outboundRoute(deps, number)
  if (isRefusal(route)) {
    return { part: 'number', problem: route.message, mayPass: route.code === 'provider_unavailable' }
  }
  return { agentName: agent.name, version, number, route }
}

/** Returns whether the agent of a version begins to speak. */
export function speaksFirst(version: AgentVersionRow): boolean {
  return readVersionConfig(version.config).callSettings.openingLine !== null
}

/** Returns what the law and the organization leave of a campaign's window on the day (IST) of `now`. */
export async function dialWindow(
  db: Db,
  rules: Policy,
  campaign: CampaignRow,
  purpose: Purpose,
  now: number,
): Promise<DialWindow> {
  return windowWithin(await readNarrowing(db, campaign.organizationId), rules, campaign, purpose, now)
}

/** Returns the hours to which an organization narrows its calls, or null. */
export async function readNarrowing(db: Db, organizationId: string): Promise<Narrowing | null> {
  const profile = await db
    .selectFrom('callingProfiles')
    .select(['windowStartMinute', 'windowEndMinute'])
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  const startMinute = profile?.windowStartMinute ?? null
  const endMinute = profile?.windowEndMinute ?? null
  return startMinute === null || endMinute === null ? null : { startMinute, endMinute }
}

/** Like `dialWindow`, for the narrowing that was read already. */
export function windowWithin(
  narrowing: Narrowing | null,
  rules: Policy,
  campaign: CampaignRow,
  purpose: Purpose,
  now: number,
): DialWindow {
  const { environment, weekdays } = campaign
  const own = { weekdays, startMinute: campaign.windowStartMinute, endMinute: campaign.windowEndMinute }
  return lawfulWindow(own, hoursOn({ rules: rules.hours, purpose, environment, narrowing }, now))
}

export function purposeOf(campaign: Pick<CampaignRow, 'purpose'>): Purpose {
  return asPurpose(campaign.purpose)
}
