import { sql } from 'kysely'
import { readVersionConfig } from '../agents/config.js'
import { missingNotice } from '../agents/notice.js'
import type { Deps } from '../api/deps.js'
import { timestamp, timestampOrNull } from '../base/schemas.js'
import { minuteRate } from '../billing/rating.js'
import type { CheckType, GateFacts, GateRequest } from '../compliance/check.js'
import { CHECKS } from '../compliance/checks/registry.js'
import { gateFacts } from '../compliance/facts.js'
import type { Db } from '../db/database.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { loadAgentKnowledge } from '../knowledge/agent-knowledge.js'
import { readDelivery } from '../knowledge/delivery.js'
import { retryTailMs } from '../recipients/retry.js'
import { agreedRate } from '../wallet/store.js'
import { EVERY_CALL_CHECKS } from './check-roles.js'
import { FREE_ROUTE } from './dialler.js'
import { type Experience, estimateFinish, NO_EXPERIENCE } from './estimate.js'
import { readFreeSlots } from './load-state.js'
import { examinePeople, type People } from './preflight-people.js'
import { routeState } from './route-state.js'
import { dialWindow, findTarget, purposeOf, type Target, type TargetProblem } from './target.js'
import type { PreflightView } from './view.js'

const MINUTE_MS = 60_000
/** Attempts by which the next ones are estimated. */
const EXPERIENCE_ATTEMPTS = 200
/** Longest conversation by which the highest price is estimated (s). */
const LONG_CALL_SECONDS = 180
/** Share of recipients that a short campaign of the lowest price answers, by decided rule (percent). */
const LOW_PERCENT = 35

type CheckView = PreflightView['checks'][number]
type PreflightDeps = Pick<Deps, 'db' | 'egress' | 'rootKey' | 'sandboxGateway' | 'clock' | 'policy'>

/** A pre-flight, and what the launch fixes. `target` is a problem if a check blocks because of it. */
export interface Preflight {
  readonly view: PreflightView
  readonly target: Target | TargetProblem
}

/**
 * Examines a campaign before its launch: agent, number, wallet, hours, legal requirements and, in one pass, every
 * recipient. Changes nothing but the rows of checks that refuse people, and the stored answers of the scrub files.
 */
export async function runPreflight(deps: PreflightDeps, campaign: CampaignRow): Promise<Preflight> {
  const now = deps.clock.wall()
  const target = await findTarget(deps, campaign)
  const ready = 'route' in target ? target : null
  const checks: CheckView[] = targetChecks(target)
  checks.push(await knowledgeCheck(deps.db, ready))
  checks.push(await noticeCheck(deps.db, campaign, ready))
  const purpose = purposeOf({ purpose: ready?.version.purpose ?? null })
  const request: GateRequest = {
    to: campaign.numberE164,
    environment: campaign.environment,
    purpose,
    trigger: 'preflight',
    campaignId: campaign.id,
    recipientId: null,
  }
  const { organizationId, numberE164: from } = campaign
  const facts = await gateFacts(deps.db, deps, { organizationId, from, gate: request }, now)
  for (const type of EVERY_CALL_CHECKS) checks.push(decided(type, request, facts, now))
  checks.push(...(await hoursChecks(deps, campaign, purpose, now)))
  const people: People =
    ready === null
      ? {
          ...{ total: campaign.total - campaign.settled, callable: 0, unanswered: 0 },
          ...{ excluded: {}, excludedE164s: {} },
        }
      : await examinePeople(
          deps,
          campaign,
          {
            ...{ facts, request, config: readVersionConfig(ready.version.config) },
            trunkLimits: ready.route.gateway.trunk?.limits ?? null,
          },
          now,
        )
  const missing = people.excluded.missing_variables ?? 0
  checks.push(
    check('variables', missing === 0 ? 'pass' : 'warn', missing === 0 ? 'complete' : 'values_missing'),
  )
  checks.push(dndSource(request, facts, people))
  const cost = await estimateCost(deps.db, campaign, ready, people.callable)
  const wallet = facts.wallet
  const short = wallet !== null && (wallet.onHold || wallet.availablePaise < cost.low)
  checks.push(
    check(
      'wallet',
      short ? 'warn' : 'pass',
      wallet === null ? 'simulated' : short ? 'balance_too_low' : 'covered',
    ),
  )
  const { unanswered: _, ...counts } = people
  return {
    target,
    view: {
      ...counts,
      checks,
      computedAt: timestamp(now),
      estimatedCostPaise: cost,
      estimatedFinish: await finishView(deps, campaign, { ready, purpose, callable: people.callable }, now),
      walletBalancePaise: wallet?.balancePaise ?? 0,
    },
  }
}

function targetChecks(target: Target | TargetProblem): CheckView[] {
  const wrong = (part: TargetProblem['part']) =>
    'problem' in target && target.part === part ? target.problem : null
  return [
    check('agent_published', wrong('agent') === null ? 'pass' : 'block', wrong('agent') ?? 'published'),
    check('number_active', wrong('number') === null ? 'pass' : 'block', wrong('number') ?? 'active'),
  ]
}

/** Tells whether the calls would be refused: a base has been built when a version is published, and may be gone. */
async function knowledgeCheck(db: Db, target: Target | null): Promise<CheckView> {
  if (target === null) return check('knowledge_base', 'pass', 'none')
  const { inline, searched, notReady } = await loadAgentKnowledge(db, target.version)
  if (notReady.length > 0) return check('knowledge_base', 'block', 'not_built')
  // The calls go on without it.
  const found = inline.length + searched.length
  if (found < readDelivery(target.version.knowledge).length) return check('knowledge_base', 'warn', 'deleted')
  return check('knowledge_base', 'pass', found === 0 ? 'none' : 'built')
}

/** Tells whether people hear that the call is recorded or may be monitored. */
async function noticeCheck(db: Db, campaign: CampaignRow, target: Target | null): Promise<CheckView> {
  if (target === null) return check('recording_notice', 'pass', 'none')
  const { organizationId, environment } = campaign
  const recorded = target.number.recordCalls === 1
  const config = readVersionConfig(target.version.config)
  const why = await missingNotice(db, { organizationId, environment, recorded, config })
  if (why !== null) return check('recording_notice', 'warn', `not_given_${why}`)
  return check(
    'recording_notice',
    'pass',
    config.callSettings.recordingNotice === null ? 'not_needed' : 'given',
  )
}

async function hoursChecks(
  { db, policy }: PreflightDeps,
  campaign: CampaignRow,
  purpose: GateRequest['purpose'],
  now: number,
): Promise<CheckView[]> {
  const start = Math.max(now, campaign.startsAt ?? now)
  const window = await dialWindow(db, policy.rules, campaign, purpose, start)
  const inside =
    window.startMinute === campaign.windowStartMinute && window.endMinute === campaign.windowEndMinute
  const windowMs = (campaign.windowEndMinute - campaign.windowStartMinute) * MINUTE_MS
  const fits = retryTailMs(campaign) <= windowMs
  return [
    check('calling_window', inside ? 'pass' : 'block', inside ? 'inside_legal_hours' : 'outside_legal_hours'),
    check('retry_tail', fits ? 'pass' : 'block', fits ? 'fits' : 'longer_than_window'),
  ]
}

function decided(type: CheckType, request: GateRequest, facts: GateFacts, now: number): CheckView {
  const { outcome, reason } = CHECKS[type].decide(request, facts, now)
  return check(type, outcome === 'block' || outcome === 'warn' ? outcome : 'pass', reason)
}

/** Tells whether the register's answers about the recipients are known already. */
function dndSource({ purpose }: GateRequest, { policy }: GateFacts, { unanswered }: People): CheckView {
  const asked = policy.register.some(({ purposes }) => purposes.includes(purpose))
  return check(
    'dnd_source',
    unanswered > 0 ? 'warn' : 'pass',
    unanswered > 0 ? 'asked_at_dial' : asked ? 'answered' : 'not_required',
  )
}

async function estimateCost(
  db: Db,
  campaign: CampaignRow,
  target: Target | null,
  callable: number,
): Promise<{ readonly low: number; readonly high: number }> {
  if (target === null) return { low: 0, high: 0 }
  const rate = minuteRate({
    ownVoice: false,
    ownTrunk: target.number.sipTrunkId !== null,
    agreedPaise: await agreedRate(db, campaign.organizationId),
  })
  const { maxCallSeconds } = readVersionConfig(target.version.config).callSettings
  return {
    low: Math.ceil((callable * rate * LOW_PERCENT) / 100),
    high: Math.ceil((callable * rate * Math.min(maxCallSeconds, LONG_CALL_SECONDS)) / 60),
  }
}

/** The calls of which a campaign consists. */
interface Calls {
  readonly ready: Target | null
  readonly purpose: GateRequest['purpose']
  readonly callable: number
}

/** Estimates the end by what the dialler obeys: paces, slots, lines and hours. */
async function finishView(
  { db, policy }: PreflightDeps,
  campaign: CampaignRow,
  { ready, purpose, callable }: Calls,
  now: number,
): Promise<PreflightView['estimatedFinish']> {
  const freeSlots = await readFreeSlots({ db }, campaign, now)
  const route = ready === null ? FREE_ROUTE : await routeState(db, ready.number, ready.route.trunk, now)
  const startsAt = Math.max(now, campaign.startsAt ?? now)
  const { low, likely, high } = estimateFinish({
    callable,
    attempts: campaign.attempts,
    // A route that its carrier slowed down is at full rate again soon.
    callsPerMinute: Math.min(campaign.callsPerMinute, MINUTE_MS / route.intervalMs),
    slots: Math.min(campaign.maxConcurrent, freeSlots, route.freeLines),
    experience: await readExperience(db, campaign),
    window: await dialWindow(db, policy.rules, campaign, purpose, startsAt),
    retryTailMs: retryTailMs(campaign),
    startsAt,
  })
  return { low: timestampOrNull(low), likely: timestampOrNull(likely), high: timestampOrNull(high) }
}

/** Returns what the last campaign calls of the organization were like. */
async function readExperience(db: Db, campaign: CampaignRow): Promise<Experience> {
  const last = db
    .selectFrom('calls')
    .select(['answeredAt', 'agentSeconds', 'humanSeconds', 'startedAt', 'endedAt'])
    .where('organizationId', '=', campaign.organizationId)
    .where('environment', '=', campaign.environment)
    .where('campaignId', 'is not', null)
    .where('endedAt', 'is not', null)
    .orderBy('createdAt', 'desc')
    .limit(EXPERIENCE_ATTEMPTS)
  const row = await db
    .selectFrom(last.as('last'))
    .select([
      sql<number>`count(*)`.as('attempts'),
      sql<number>`count("answeredAt")`.as('answered'),
      sql<number>`coalesce(sum("agentSeconds" + "humanSeconds"), 0)`.as('talk'),
      sql<number>`coalesce(sum(case when "answeredAt" is null then "endedAt" - "startedAt" else 0 end), 0)`.as(
        'ringMs',
      ),
    ])
    .executeTakeFirstOrThrow()
  const { attempts, answered, talk, ringMs } = row
  if (attempts < EXPERIENCE_ATTEMPTS) return NO_EXPERIENCE
  return {
    answered: answered / attempts,
    talkSeconds: answered === 0 ? NO_EXPERIENCE.talkSeconds : talk / answered,
    ringSeconds: answered === attempts ? NO_EXPERIENCE.ringSeconds : ringMs / 1000 / (attempts - answered),
  }
}

function check(type: string, outcome: 'pass' | 'warn' | 'block', reason: string): CheckView {
  return { type, outcome, reason }
}
