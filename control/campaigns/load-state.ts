import { sql } from 'kysely'
import type { Deps } from '../api/deps.js'
import { readPoolUse } from '../calls/placement/call-slots.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { DEFAULT_CAMPAIGN_SHARE } from '../organization/profile-store.js'
import { IS_BUSY, WAITS } from '../recipients/attempts.js'
import { type Route, routeOf } from '../recipients/route-pace.js'
import { availablePaise } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { MIN_CALL_PAISE } from '../wallet/view.js'
import {
  BREAKER_MIN_FAILURES,
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
import {
  findTarget,
  purposeOf,
  readNarrowing,
  type Target,
  type TargetProblem,
  windowWithin,
} from './target.js'

export type LoadDeps = Pick<Deps, 'db' | 'clock' | 'egress' | 'rootKey' | 'sandboxGateway' | 'policy'>

/** The state of an owner's campaigns, with the rows that it was read from. */
export interface LoadedState {
  /** Without the campaigns about which nothing can be decided before their next dial. */
  readonly state: DiallerState
  readonly campaigns: ReadonlyMap<string, CampaignRow>
  /** The keys of `state.routes`. */
  readonly routes: ReadonlyMap<string, Route>
  /** Earliest next dial of the others (Unix ms). Null if there are none. */
  readonly asleepUntil: number | null
}

/** Targets that were found already, by what names them. */
export type KnownTargets = Map<string, Promise<Target | TargetProblem>>

/** Reads what the dialler decides by. Null if no campaign of the owner is active. */
export async function loadState(
  deps: LoadDeps,
  owner: Owner,
  now: number,
  known: KnownTargets = new Map(),
): Promise<LoadedState | null> {
  const { db } = deps
  const rows = await db
    .selectFrom('campaigns')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    // Bound values would make SQLite prepare the statement again for each run, because of the partial index.
    .where(
      'status',
      'in',
      ACTIVE.map((status) => sql.lit(status)),
    )
    .execute()
  if (rows.length === 0) return null
  const due = rows.filter((row) => !isAsleep(row, now))
  const asleep = rows.filter((row) => isAsleep(row, now)).map(({ nextDialAt }) => nextDialAt)
  const busy = await countBusy(deps, owner, now)
  const routes = new Map<string, Route>()
  const routeStates = new Map<string, RouteState>()
  const campaigns: CampaignState[] = []
  const narrowing = due.length === 0 ? null : await readNarrowing(db, owner.organizationId)
  for (const row of due) {
    const target = row.status === 'paused' ? null : await targetOf(deps, row, known)
    const found = target !== null && 'route' in target ? target : null
    const route = found === null ? null : routeOf(found.number, found.route.trunk)
    if (found !== null && route !== null && !routes.has(route.route)) {
      routes.set(route.route, route)
      routeStates.set(route.route, await routeState(db, found.number, found.route.trunk, now))
    }
    const running = row.status === 'running'
    const [{ nextDueAt, recent }, probe] = await Promise.all([
      readAttempts(deps, row, now),
      running && row.breakerTrips > 0 ? readProbe(deps, row) : null,
    ])
    campaigns.push({
      id: row.id,
      status: row.status as CampaignState['status'],
      startsAt: row.startsAt,
      endsAt: row.endsAt,
      window: windowWithin(narrowing, deps.policy.rules, row, purposeOf(row), now),
      callsPerMinute: row.callsPerMinute,
      maxConcurrent: row.maxConcurrent,
      nextDialAt: row.nextDialAt,
      autoPauseBelowPaise: row.autoPauseBelowPaise,
      inFlight: busy.get(row.id) ?? 0,
      unsettled: row.total - row.settled,
      nextDueAt,
      targetProblem: target !== null && 'problem' in target ? target.problem : null,
      problemMayPass: target !== null && 'problem' in target && target.mayPass === true,
      unreachableSince: row.unreachableSince,
      recent,
      resumesAt: row.resumesAt,
      probe,
      route: route?.route ?? '',
    })
  }
  return {
    state: {
      campaigns,
      freeSlots: await freeSlots(deps, owner, busy, now),
      wallet: await walletState(deps, owner, now),
      routes: routeStates,
    },
    routes,
    campaigns: new Map(rows.map((row) => [row.id, row])),
    asleepUntil: asleep.length === 0 ? null : Math.min(...asleep),
  }
}

/** Returns whether only the time of its next dial can change what happens to a campaign. */
function isAsleep(row: CampaignRow, now: number): boolean {
  const { status, nextDialAt, total, settled, endsAt, breakerTrips } = row
  if (status !== 'running' || breakerTrips > 0 || settled >= total) return false
  return nextDialAt > now && (endsAt === null || endsAt > now)
}

function targetOf(deps: LoadDeps, row: CampaignRow, known: KnownTargets): Promise<Target | TargetProblem> {
  const name = `${row.agentId} ${row.agentVersion} ${row.numberId}`
  const found = known.get(name) ?? findTarget(deps, row)
  known.set(name, found)
  return found
}

/** Counts the recipients of each campaign that are claimed, ring or talk. A claim whose lease is over is free. */
async function countBusy(
  { db }: Pick<LoadDeps, 'db'>,
  owner: Owner,
  now: number,
): Promise<ReadonlyMap<string, number>> {
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

/** Returns the slots that the campaigns of an owner may take now. */
export async function readFreeSlots(deps: Pick<LoadDeps, 'db'>, owner: Owner, now: number): Promise<number> {
  return freeSlots(deps, owner, await countBusy(deps, owner, now), now)
}

/** Returns the slots that campaigns may take now: free ones, within the share that leaves room for other calls. */
async function freeSlots(
  { db }: Pick<LoadDeps, 'db'>,
  owner: Owner,
  busy: ReadonlyMap<string, number>,
  now: number,
): Promise<number> {
  const held = [...busy.values()].reduce((sum, count) => sum + count, 0)
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
  const { balancePaise } = wallet
  const funds = !usable || balancePaise < MIN_CALL_PAISE ? 'short' : 'held'
  return { balancePaise, funds: usable && availablePaise(wallet) >= MIN_CALL_PAISE ? 'covered' : funds }
}

interface Attempts {
  /** When the next recipient that waits is due (Unix ms). Null if none waits, or the campaign does not run. */
  readonly nextDueAt: number | null
  readonly recent: RecentAttempts
}

/** Is 1 for a call that failed in this service before its INVITE. */
const UNSTARTED = sql<number>`(case when "endedAt" is not null and "sipCallId" is null and "endedReason" = 'internal'
  then 1 else 0 end)`

/** Reads what is due and how the last attempts ended, in one statement for each campaign of a look. */
async function readAttempts(
  { db }: LoadDeps,
  { id, status, uploaded, breakerAt }: CampaignRow,
  now: number,
): Promise<Attempts> {
  const since = breakerAt ?? 0
  const windowFrom = Math.max(now - BREAKER_WINDOW_MS, since)
  // `nextAttemptAt` is named because it is the column of the index. Without it SQLite reads the whole campaign by position.
  const nextDue = sql`(select "nextAttemptAt" from "campaignRecipients" where "campaignId" = ${id} and ${WAITS}
      and "nextAttemptAt" >= 0 and "position" <= ${uploaded} order by "nextAttemptAt" limit 1)`
  // `carrierFailed` has its value in the text, so that SQLite takes the partial index.
  const { rows } = await sql<{
    nextDueAt: number | null
    carrierFailures: number
    failuresInRow: number
    unstartedInRow: number
  }>`
    select ${status === 'running' ? nextDue : sql`cast(null as bigint)`} as "nextDueAt",
      (select count(*) from "calls" where "campaignId" = ${id} and "createdAt" > ${windowFrom}
        and "carrierFailed" = 1 and "endedAt" is not null) as "carrierFailures",
      "failuresInRow", "unstartedInRow"
    from (
      select coalesce(sum("carrierFailed"), 0) as "failuresInRow", coalesce(sum(${UNSTARTED}), 0) as "unstartedInRow"
      from (
        select "carrierFailed", "endedAt", "sipCallId", "endedReason" from "calls"
        where "campaignId" = ${id} and "createdAt" > ${since} and "endedAt" is not null
        order by "createdAt" desc, "id" desc limit ${sql.lit(BREAKER_ROW)}) as "last") as "row"`.execute(db)
  const { nextDueAt = null, carrierFailures = 0, failuresInRow = 0, unstartedInRow = 0 } = rows[0] ?? {}
  // A campaign has hundreds of attempts in the window. They matter only once many of them failed.
  if (carrierFailures < BREAKER_MIN_FAILURES) {
    return { nextDueAt, recent: { ended: 0, carrierFailures, failuresInRow, unstartedInRow } }
  }
  const { ended } = await db
    .selectFrom('calls')
    .select(sql<number>`count(*)`.as('ended'))
    .where('campaignId', '=', id)
    .where('createdAt', '>', windowFrom)
    .where('endedAt', 'is not', null)
    .executeTakeFirstOrThrow()
  return { nextDueAt, recent: { ended, carrierFailures, failuresInRow, unstartedInRow } }
}

/** Counts the calls since the breaker is half open. A call that failed in this service after its INVITE says nothing. */
async function readProbe({ db }: LoadDeps, { id, breakerAt }: CampaignRow): Promise<Probe> {
  return db
    .selectFrom('calls')
    .select([
      sql<number>`coalesce(sum("carrierFailed"), 0)`.as('carrierFailures'),
      sql<number>`coalesce(sum(case when "answeredAt" is not null or "ringingAt" is not null or
        ("endedAt" is not null and "carrierFailed" = 0 and "sipCallId" is not null and "endedReason" != 'internal') then 1 else 0 end), 0)`.as(
        'reached',
      ),
      sql<number>`coalesce(sum(${UNSTARTED}), 0)`.as('unstarted'),
    ])
    .where('campaignId', '=', id)
    .where('createdAt', '>=', breakerAt ?? 0)
    .executeTakeFirstOrThrow()
}
