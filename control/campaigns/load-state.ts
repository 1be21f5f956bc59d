import { sql } from 'kysely'
import type { Deps } from '../api/deps.js'
import { readPoolUse } from '../calls/placement/call-slots.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { DEFAULT_CAMPAIGN_SHARE } from '../organization/profile-store.js'
import { IS_BUSY, WAITS } from '../recipients/attempts.js'
import { routeOf } from '../recipients/route-pace.js'
import { availablePaise } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { MIN_CALL_PAISE } from '../wallet/view.js'
import {
  BREAKER_ROW,
  BREAKER_WINDOW_MS,
  type CampaignState,
  type DiallerState,
  type Probe,
  type RecentAttempts,
  type RouteState,
} from './dialler.js'
import { ACTIVE } from './moves.js'
import { routeState } from './route-state.js'
import type { Owner } from './store.js'
import { dialWindow, findTarget, purposeOf } from './target.js'

export type LoadDeps = Pick<Deps, 'db' | 'egress' | 'rootKey' | 'sandboxGateway' | 'policy'>

/** The state of an owner's campaigns, with the rows that it was read from. */
export interface LoadedState {
  readonly state: DiallerState
  readonly campaigns: ReadonlyMap<string, CampaignRow>
}

/** Reads what the dialler decides by. Null if no campaign of the owner is active. */
export async function loadState(deps: LoadDeps, owner: Owner, now: number): Promise<LoadedState | null> {
  const { db } = deps
  const rows = await db
    .selectFrom('campaigns')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('status', 'in', ACTIVE)
    .execute()
  if (rows.length === 0) return null
  const busy = await countBusy(deps, owner, now)
  const held = [...busy.values()].reduce((sum, count) => sum + count, 0)
  const routes = new Map<string, RouteState>()
  const campaigns: CampaignState[] = []
  for (const row of rows) {
    const target = row.status === 'paused' ? null : await findTarget(deps, row)
    const found = target !== null && 'route' in target ? target : null
    const route = found === null ? '' : routeOf(found.number)
    if (found !== null && !routes.has(route))
      routes.set(route, await routeState(db, owner, found.number, found.route.trunk, now))
    campaigns.push({
      id: row.id,
      status: row.status as CampaignState['status'],
      startsAt: row.startsAt,
      endsAt: row.endsAt,
      window: await dialWindow(db, deps.policy.rules, row, purposeOf(row), now),
      callsPerMinute: row.callsPerMinute,
      maxConcurrent: row.maxConcurrent,
      nextDialAt: row.nextDialAt,
      autoPauseBelowPaise: row.autoPauseBelowPaise,
      inFlight: busy.get(row.id) ?? 0,
      unsettled: row.total - row.settled,
      nextDueAt: row.status === 'running' ? await nextDue(deps, row) : null,
      targetProblem: target !== null && 'problem' in target ? target.problem : null,
      recent: await recentAttempts(deps, row, now),
      resumesAt: row.resumesAt,
      probe: row.status === 'running' && row.breakerTrips > 0 ? await readProbe(deps, row) : null,
      route,
    })
  }
  return {
    state: {
      campaigns,
      freeSlots: await freeSlots(deps, owner, held, now),
      wallet: await walletState(deps, owner, now),
      routes,
    },
    campaigns: new Map(rows.map((row) => [row.id, row])),
  }
}

/** Counts the recipients of each campaign that are claimed, ring or talk. A claim whose lease is over is free. */
async function countBusy({ db }: LoadDeps, owner: Owner, now: number): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('campaignRecipients')
    .select(['campaignId', sql<number>`count(*)`.as('busy')])
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where(IS_BUSY)
    .where((column) => column.or([column('status', '!=', 'queued'), column('nextAttemptAt', '>', now)]))
    .groupBy('campaignId')
    .execute()
  return new Map(rows.map(({ campaignId, busy }) => [campaignId, busy]))
}

/** Returns the slots that campaigns may take now: free ones, within the share that leaves room for other calls. */
async function freeSlots({ db }: LoadDeps, owner: Owner, held: number, now: number): Promise<number> {
  const { inUse, limit } = (await readPoolUse(db, owner, now)).agentCalls
  const profile = await db
    .selectFrom('organizationProfiles')
    .select('campaignSharePercent')
    .where('organizationId', '=', owner.organizationId)
    .executeTakeFirst()
  const percent = profile?.campaignSharePercent ?? DEFAULT_CAMPAIGN_SHARE
  const share = Math.max(1, Math.floor((limit * percent) / 100))
  return Math.max(0, Math.min(limit - inUse, share - held))
}

async function walletState({ db }: LoadDeps, owner: Owner, now: number): Promise<DiallerState['wallet']> {
  if (owner.environment === 'test') return null
  const wallet = await readWallet(db, owner.organizationId, now)
  const usable = wallet.onHold === 0 && wallet.haltedAt === null
  const covered = usable && availablePaise(wallet) >= MIN_CALL_PAISE
  return { balancePaise: wallet.balancePaise, covered }
}

async function nextDue({ db }: LoadDeps, { id, uploaded }: CampaignRow): Promise<number | null> {
  const row = await db
    .selectFrom('campaignRecipients')
    .select('nextAttemptAt')
    .where('campaignId', '=', id)
    .where(WAITS)
    // Names the column of the index. Without it SQLite reads the whole campaign by position.
    .where('nextAttemptAt', '>=', 0)
    .where('position', '<=', uploaded)
    .orderBy('nextAttemptAt')
    .limit(1)
    .executeTakeFirst()
  return row?.nextAttemptAt ?? null
}

async function recentAttempts(
  { db }: LoadDeps,
  { id, breakerAt }: CampaignRow,
  now: number,
): Promise<RecentAttempts> {
  const since = breakerAt ?? 0
  const last = await db
    .selectFrom('calls')
    .select('carrierFailed')
    .where('campaignId', '=', id)
    .where('createdAt', '>', since)
    .where('endedAt', 'is not', null)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(BREAKER_ROW)
    .execute()
  const other = last.findIndex(({ carrierFailed }) => carrierFailed !== 1)
  const row = await db
    .selectFrom('calls')
    .select([
      sql<number>`count(*)`.as('ended'),
      sql<number>`coalesce(sum("carrierFailed"), 0)`.as('carrierFailures'),
    ])
    .where('campaignId', '=', id)
    .where('createdAt', '>', Math.max(now - BREAKER_WINDOW_MS, since))
    .where('endedAt', 'is not', null)
    .executeTakeFirstOrThrow()
  return { ...row, failuresInRow: other === -1 ? last.length : other }
}

/** Counts the calls since the breaker is half open. A call that failed in this service says nothing. */
async function readProbe({ db }: LoadDeps, { id, breakerAt }: CampaignRow): Promise<Probe> {
  return db
    .selectFrom('calls')
    .select([
      sql<number>`coalesce(sum("carrierFailed"), 0)`.as('carrierFailures'),
      sql<number>`coalesce(sum(case when "answeredAt" is not null or "ringingAt" is not null or
        ("endedAt" is not null and "carrierFailed" = 0 and "sipCallId" is not null and "endedReason" != 'internal') then 1 else 0 end), 0)`.as(
        'reached',
      ),
    ])
    .where('campaignId', '=', id)
    .where('createdAt', '>=', breakerAt ?? 0)
    .executeTakeFirstOrThrow()
}
