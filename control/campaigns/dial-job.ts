import { randomBytes } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import type { Deps } from '../api/deps.js'
import { anotherNodeRuns } from '../calls/lifecycle/leases.js'
import type { Db } from '../db/database.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import { endOfEventLoopTurn } from '../jobs/group-commit.js'
import { type ClaimedJob, type JobHandler, type JobOutcome, POLL_MS } from '../jobs/runner.js'
import { lockWakes, readWakes } from '../jobs/wake.js'
import { DIALLER_KIND } from '../recipients/dialler-job.js'
import { dialCallbacks } from './callbacks/dial.js'
import { type DialResult, dialOnce } from './dial.js'
import { type Decision, type Move, next } from './dialler.js'
import { type KnownTargets, type LoadedState, loadState } from './load-state.js'
import {
  completeCampaign,
  failCampaign,
  halfOpenCampaign,
  pauseCampaign,
  recoverCampaign,
  setUnreachable,
  startCampaign,
  verifyCounters,
} from './moves.js'
import type { Owner } from './store.js'

/** Time for which one process dials for an organization, before another one may (ms). */
const TURN_MS = 10_000
/** Pause after a turn (ms). */
const HANDOVER_MS = 5
/** Time after which a process that dials for an organization without a break leaves its next turn to others (ms). */
const SHARE_MS = 60_000
/** Time for which it does (ms). Every process looks for jobs meanwhile; without another one the turn is not left. */
const LEAVE_MS = POLL_MS + 500
/** A process that waited longer than this between two turns had a break: the others had the same chance of the next turn (ms). */
const BREAK_MS = POLL_MS
/** Longest time until the next look (ms). Settings outside the campaigns change without waking the job. */
const LONGEST_WAIT_MS = 60_000
/** Time between two comparisons of a campaign's counters with the rows (ms). */
const VERIFY_MS = 10 * 60_000
/** Dials that are placed side by side. Between them other work of the process has its turn. */
const DIALS_AT_ONCE = 4
/** Organizations that one process dials for at the same time. */
const CONCURRENCY = 64

/** The job that runs the campaigns and dials the callbacks of one organization in one environment. */
export function diallerHandler(deps: Deps): JobHandler {
  const streaks: Streaks = new Map()
  return { kind: DIALLER_KIND, concurrency: CONCURRENCY, run: (job) => takeTurn(deps, job, streaks) }
}

/** Jobs of which this process has turns without a break: since when, and the end of the last turn (ms of the clock). */
type Streaks = Map<string, { readonly since: number; readonly until: number }>

async function takeTurn(deps: Deps, job: ClaimedJob, streaks: Streaks): Promise<JobOutcome> {
  const { db, clock } = deps
  const owner = JSON.parse(job.payload) as Owner
  const claimedBy = randomBytes(12).toString('base64url')
  const last = streaks.get(job.id)
  const since = last !== undefined && clock.now() - last.until < BREAK_MS ? last.since : clock.now()
  const endsAt = clock.now() + TURN_MS
  const end = (wakes: number, lookAt: number | null): JobOutcome => {
    streaks.set(job.id, { since, until: clock.now() })
    const shares = clock.now() - since >= SHARE_MS
    if (lookAt === null || shares) streaks.delete(job.id)
    return outcomeOf(deps, job, wakes, lookAt, shares)
  }
  // Of this turn: a change of an agent or a number is seen with the next one, and when the call is placed.
  const targets: KnownTargets = new Map()
  for (;;) {
    // Read before the state: a change after it wakes the job again.
    const wakes = await readWakes(db, job.id)
    const callbackAt = await dialCallbacks(deps, owner)
    const now = clock.wall()
    const loaded = await loadState(deps, owner, now, targets)
    if (loaded === null) return end(wakes, callbackAt)
    const decision = next(loaded.state, now)
    for (const move of decision.moves) await apply(deps, loaded, move)
    const lost = await placeAll(deps, loaded, claimedBy, decision.dials, job.signal)
    await verify(deps, loaded, now)
    const nextAt = earlier(earlier(decision.lookAt, loaded.asleepUntil), callbackAt)
    const lookAt = decision.moves.length > 0 || lost ? clock.wall() : nextAt
    const waitMs = (lookAt ?? Number.POSITIVE_INFINITY) - clock.wall()
    if (job.signal.aborted || deps.calls.draining || clock.now() + waitMs >= endsAt) {
      return end(wakes, lookAt)
    }
    if (waitMs > 0) await sleep(clock, waitMs, job.signal)
    else await endOfEventLoopTurn()
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

/**
 * Ends the turn. The next one is due at `lookAt`, or at once if the job was woken meanwhile. With `shares` it is left to
 * another process, if one runs.
 */
function outcomeOf(
  { clock, nodeId }: Deps,
  { id }: ClaimedJob,
  wakes: number,
  lookAt: number | null,
  shares: boolean,
): JobOutcome {
  return async (trx) => {
    const soon = clock.wall() + HANDOVER_MS
    const woken = (await lockWakes(trx, id)) !== wakes
    if (!woken && lookAt === null) return null
    const dueAt = woken ? soon : Math.min(Math.max(lookAt ?? soon, soon), clock.wall() + LONGEST_WAIT_MS)
    const left = shares && (await anotherNodeRuns(trx, nodeId, clock.wall()))
    return left ? { dueAt, leaveMs: LEAVE_MS } : dueAt
  }
}

/**
 * Places the dials at their times. Those that are due are placed even if the turn shall end, like all of a look; those
 * that were planned ahead are not. Returns whether a turn was lost to another dial: what is known of the routes is then old.
 * Throws the first error after all of them have ended.
 */
async function placeAll(
  deps: Deps,
  loaded: Loaded,
  claimedBy: string,
  dials: Decision['dials'],
  signal: AbortSignal,
): Promise<boolean> {
  const { clock } = deps
  let lost = false
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  for (const dial of dials) {
    const waitMs = dial.at - clock.wall()
    if (waitMs > 0) {
      if (!signal.aborted) await sleep(clock, waitMs, signal)
      if (signal.aborted) break
    }
    while (running.size >= DIALS_AT_ONCE) await Promise.race(running)
    if (deps.calls.draining || failures.length > 0) break
    const placing: Promise<void> = use(deps, loaded, claimedBy, dial)
      .then((result) => {
        lost ||= result === 'lost'
      })
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(placing))
    running.add(placing)
    // SQLite answers at once: a dialler that is behind would hold the thread until the end of its turn.
    await endOfEventLoopTurn()
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
  return lost
}

type Loaded = Pick<LoadedState, 'state' | 'campaigns' | 'routes'>

async function use(
  deps: Deps,
  loaded: Loaded,
  claimedBy: string,
  dial: Decision['dials'][number],
): Promise<DialResult['kind'] | null> {
  const { state, campaigns, routes } = loaded
  const campaign = campaigns.get(dial.campaignId)
  const own = state.campaigns.find(({ id }) => id === dial.campaignId)
  const route = routes.get(dial.route)
  if (campaign === undefined || own === undefined || route === undefined) return null
  const result: DialResult = await dialOnce({ deps, claimedBy, campaign, state: own, route }, dial)
  if (result.kind === 'pause') {
    await apply(deps, loaded, { campaignId: campaign.id, to: 'paused', reason: result.reason })
  }
  return result.kind
}

async function apply(deps: Deps, { state, campaigns }: Loaded, move: Move): Promise<void> {
  const { db, reads, clock, log } = deps
  const campaign = campaigns.get(move.campaignId)
  if (campaign === undefined) return
  const settled = state.campaigns.some(({ id, unsettled }) => id === campaign.id && unsettled === 0)
  if (move.to === 'completed' && settled && (await correct(db, reads, deps, campaign))) return
  const changed = await db.transaction().execute((trx) => {
    const now = clock.wall()
    switch (move.to) {
      case 'running':
        return startCampaign(trx, campaign, now)
      case 'half_open':
        return halfOpenCampaign(trx, campaign, now)
      case 'recovered':
        return recoverCampaign(trx, campaign, now)
      case 'unreachable':
        return setUnreachable(trx, campaign, now, now)
      case 'reachable':
        return setUnreachable(trx, campaign, null, now)
      case 'failed':
        return failCampaign(trx, campaign, move.reason, now)
      case 'paused':
        return pauseCampaign(trx, campaign, move.reason, now)
      case 'completed':
        return completeCampaign(trx, campaign, now)
    }
  })
  if (changed === null) return
  const { id: campaignId, status, pausedReason, unreachableSince } = changed
  log.info({ campaignId, status, pausedReason, unreachableSince }, 'campaign.moved')
}

async function verify(deps: Deps, { campaigns }: LoadedState, now: number): Promise<void> {
  for (const campaign of campaigns.values()) {
    if (now - campaign.countedAt >= VERIFY_MS) await correct(deps.db, deps.reads, deps, campaign)
  }
}

async function correct(db: Db, reads: Db, { clock, log }: Deps, campaign: CampaignRow): Promise<boolean> {
  const corrected = await verifyCounters(db, reads, campaign, clock.wall())
  if (corrected) log.warn({ campaignId: campaign.id }, 'campaign.counters_corrected')
  return corrected
}

/** Resolves after `ms`, or when the runner closes. */
function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.after(ms, end)
    signal.addEventListener('abort', end)
  })
}
