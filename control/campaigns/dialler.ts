import type { PausedReason } from '../db/tables/campaigns.js'
import { type DialWindow, nextOpening } from './dial-window.js'

/*
 * Decides who dials next, as a pure function of the campaigns of one organization in one environment and the time.
 * `dial-job.ts` reads the state, carries out the decision and asks again.
 */

/** Attempts of the last minutes by which the breaker judges the carrier. */
export const BREAKER_WINDOW_MS = 5 * 60_000
const BREAKER_MIN_ATTEMPTS = 20
/** Half of the least attempts: with fewer failures the breaker does not judge the carrier by its share of failures. */
export const BREAKER_MIN_FAILURES = BREAKER_MIN_ATTEMPTS / 2
/**
 * Attempts in a row that failed because of the carrier, or that this service could not start, however long they took. A carrier that answers 503 slows the
 * dials down so far that `BREAKER_WINDOW_MS` may never have `BREAKER_MIN_ATTEMPTS`.
 */
export const BREAKER_ROW = 10
/** Wait before one call is tried again (ms). Doubles each time that it fails. */
const FIRST_RESUME_MS = 5 * 60_000
const LAST_RESUME_MS = 60 * 60_000
/**
 * Time by which dials are planned ahead (ms). A route of many calls a second has turns that are shorter than a look
 * takes.
 */
const AHEAD_MS = 200
/** Time for which a number that cannot call for a cause that may pass is waited for (ms), and time between two looks at it. */
const UNREACHABLE_MS = 10 * 60_000
const UNREACHABLE_LOOK_MS = 10_000
/** Time until the next look when only the end of a call can help (ms). */
const BLOCKED_MS = 1_000
const MINUTE_MS = 60_000

export interface CampaignState {
  readonly id: string
  readonly status: 'scheduled' | 'running' | 'paused'
  readonly startsAt: number | null
  readonly endsAt: number | null
  /** Part of the campaign's own window that the law permits. */
  readonly window: DialWindow
  readonly callsPerMinute: number
  readonly maxConcurrent: number
  /** Earliest time of the next dial (Unix ms). */
  readonly nextDialAt: number
  readonly autoPauseBelowPaise: number
  /** Recipients that are claimed, ring or talk. */
  readonly inFlight: number
  readonly unsettled: number
  /** Earliest time at which a recipient may be dialled. Null if none waits. */
  readonly nextDueAt: number | null
  /** Why the agent or the number cannot call. Null if they can. */
  readonly targetProblem: string | null
  /** True if the problem may pass by itself. */
  readonly problemMayPass: boolean
  /** Since when a problem that may pass has lasted. Null without one. */
  readonly unreachableSince: number | null
  readonly recent: RecentAttempts
  /** End of a pause by the breaker. Null without one. */
  readonly resumesAt: number | null
  /** Calls since the end of that pause, while it is not known whether calls reach their persons again. Else null. */
  readonly probe: Probe | null
  /** Key of `DiallerState.routes`. */
  readonly route: string
}

/** How the carrier and this service have served a campaign lately. */
export interface RecentAttempts {
  /** Attempts of the last `BREAKER_WINDOW_MS` that ended; 0 with fewer failures than `BREAKER_MIN_FAILURES`. */
  readonly ended: number
  /** Those of them that failed because of the carrier. */
  readonly carrierFailures: number
  /** How many of the last `BREAKER_ROW` attempts that ended failed because of the carrier. */
  readonly failuresInRow: number
  /** How many of them this service could not start. */
  readonly unstartedInRow: number
}

/** Calls of a campaign whose breaker is half open. */
export interface Probe {
  /** The carrier brought the call to the person. */
  readonly reached: number
  readonly carrierFailures: number
  /** This service could not start the call. */
  readonly unstarted: number
}

export interface RouteState {
  /** Time between two dials at full rate (ms). 0 without a limit. */
  readonly intervalMs: number
  readonly nextDialAt: number
  /** Share of the full rate, above 0 to 1. */
  readonly rate: number
  readonly freeLines: number
}

/**
 * Tells whether the wallet covers the next call. `held`: the balance would, but calls in progress hold a part of it,
 * which they may give back. `short`: the balance does not, or the wallet is on hold.
 */
export type Funds = 'covered' | 'held' | 'short'

export interface DiallerState {
  readonly campaigns: readonly CampaignState[]
  /** Agent slots that campaigns may still take: free ones, within their share of the limit. */
  readonly freeSlots: number
  /** Null in the test environment. */
  readonly wallet: { readonly balancePaise: number; readonly funds: Funds } | null
  readonly routes: ReadonlyMap<string, RouteState>
}

/** The right to dial one recipient of a campaign, and the times that it uses up. */
export interface Dial {
  readonly campaignId: string
  readonly route: string
  /** Time of the dial (Unix ms), at most `AHEAD_MS` from now. */
  readonly at: number
  /** Earliest next dials of the campaign and of the route. */
  readonly nextDialAt: number
  readonly nextRouteDialAt: number
}

export type Move =
  /**
   * `half_open`: runs with one call at a time. `recovered`: that call reached its person. `unreachable`: waits for a problem
   * of the number to pass. `reachable`: it has passed.
   */
  | {
      readonly campaignId: string
      readonly to: 'running' | 'half_open' | 'recovered' | 'unreachable' | 'reachable' | 'completed'
    }
  | { readonly campaignId: string; readonly to: 'paused'; readonly reason: PausedReason }
  | { readonly campaignId: string; readonly to: 'failed'; readonly reason: string }

export interface Decision {
  readonly moves: readonly Move[]
  /** At most one dial per campaign, in the order of their times. */
  readonly dials: readonly Dial[]
  /** Time of the next look (Unix ms). Null when no campaign needs one. */
  readonly lookAt: number | null
}

/** Capacity that the campaigns of one decision share. */
interface Capacity {
  slots: number
  readonly lines: Map<string, number>
  readonly routeNextAt: Map<string, number>
}

type Step =
  | { readonly kind: 'dial'; readonly dial: Dial }
  | { readonly kind: 'move'; readonly move: Move }
  | { readonly kind: 'wait'; readonly until: number | null }

/**
 * Decides about every campaign. The one that has waited longest for its dial comes first, so that scarce slots and
 * lines are shared.
 */
export function next(state: DiallerState, now: number): Decision {
  const capacity: Capacity = {
    slots: state.freeSlots,
    lines: new Map([...state.routes].map(([route, { freeLines }]) => [route, freeLines])),
    routeNextAt: new Map([...state.routes].map(([route, { nextDialAt }]) => [route, nextDialAt])),
  }
  const moves: Move[] = []
  const dials: Dial[] = []
  let lookAt: number | null = null
  const look = (at: number) => {
    lookAt = lookAt === null ? at : Math.min(lookAt, at)
  }
  for (const campaign of state.campaigns.toSorted((a, b) => a.nextDialAt - b.nextDialAt)) {
    const step = stepOf(campaign, state, capacity, now)
    switch (step.kind) {
      case 'dial':
        dials.push(step.dial)
        look(step.dial.nextDialAt)
        break
      case 'move':
        moves.push(step.move)
        // A campaign that was started dials in the next decision.
        if (step.move.to !== 'paused' && step.move.to !== 'failed') look(now)
        break
      case 'wait':
        if (step.until !== null) look(step.until)
    }
  }
  return { moves, dials: dials.toSorted((a, b) => a.at - b.at), lookAt }
}

function stepOf(campaign: CampaignState, state: DiallerState, capacity: Capacity, now: number): Step {
  const { id: campaignId, endsAt } = campaign
  const move = (move: Move): Step => ({ kind: 'move', move })
  if (campaign.status === 'scheduled') {
    if (campaign.startsAt !== null && campaign.startsAt > now) return wait(campaign.startsAt)
    const unreachable = unreachableStep(campaign, now)
    if (unreachable !== null) return unreachable
    return campaign.targetProblem === null
      ? move({ campaignId, to: 'running' })
      : move({ campaignId, to: 'failed', reason: campaign.targetProblem })
  }
  const ended = endsAt !== null && now >= endsAt
  if (campaign.status === 'paused') {
    const { resumesAt } = campaign
    if (!ended) {
      if (resumesAt !== null && resumesAt <= now) return move({ campaignId, to: 'half_open' })
      return wait(resumesAt === null ? endsAt : Math.min(resumesAt, endsAt ?? resumesAt))
    }
    return campaign.inFlight === 0 ? move({ campaignId, to: 'completed' }) : wait(now + BLOCKED_MS)
  }
  if (campaign.unsettled === 0) return move({ campaignId, to: 'completed' })
  const opensAt = nextOpening(campaign.window, Math.max(now, campaign.nextDueAt ?? now))
  const noSlotLeft = endsAt !== null && (ended || (opensAt ?? endsAt) >= endsAt)
  if (noSlotLeft)
    return campaign.inFlight === 0 ? move({ campaignId, to: 'completed' }) : wait(now + BLOCKED_MS)
  const unreachable = unreachableStep(campaign, now)
  if (unreachable !== null) return unreachable
  const reason = pauseOf(campaign, state.wallet)
  if (reason !== null) return move({ campaignId, to: 'paused', reason })
  if (campaign.probe !== null && campaign.probe.reached > 0) return move({ campaignId, to: 'recovered' })
  // The window is closed for ever, and no end is set.
  if (opensAt === null) return move({ campaignId, to: 'paused', reason: 'target_unavailable' })
  if (campaign.nextDueAt === null) return wait(now + BLOCKED_MS)
  return dialOf(campaign, state, capacity, { opensAt, now })
}

/** Returns what a campaign does about a problem of its number that may pass, or null if it does not wait for that. */
function unreachableStep(
  { id: campaignId, targetProblem, problemMayPass, unreachableSince: since }: CampaignState,
  now: number,
): Step | null {
  if (targetProblem === null) {
    return since === null ? null : { kind: 'move', move: { campaignId, to: 'reachable' } }
  }
  if (!problemMayPass) return null
  if (since === null) return { kind: 'move', move: { campaignId, to: 'unreachable' } }
  const until = since + UNREACHABLE_MS
  return now < until ? wait(Math.min(now + UNREACHABLE_LOOK_MS, until)) : null
}

function dialOf(
  campaign: CampaignState,
  state: DiallerState,
  capacity: Capacity,
  { opensAt, now }: { readonly opensAt: number; readonly now: number },
): Step {
  const { id: campaignId, route } = campaign
  const { intervalMs, rate } = state.routes.get(route) ?? FREE_ROUTE
  const readyAt = Math.max(opensAt, campaign.nextDialAt)
  const at = Math.max(now, readyAt, capacity.routeNextAt.get(route) ?? 0)
  const closed = nextOpening(campaign.window, at) !== at
  if (readyAt > now || at > now + AHEAD_MS || closed) return wait(at)
  const lines = capacity.lines.get(route) ?? FREE_ROUTE.freeLines
  const most = campaign.probe === null ? campaign.maxConcurrent : 1
  if (state.wallet?.funds === 'held') return wait(now + BLOCKED_MS)
  if (capacity.slots <= 0 || lines <= 0 || campaign.inFlight >= most) {
    return wait(now + BLOCKED_MS)
  }
  capacity.slots--
  capacity.lines.set(route, lines - 1)
  // Counted from the dial, not from the time of the right: unused pace is never made up for.
  const nextDialAt = at + Math.ceil(MINUTE_MS / campaign.callsPerMinute / rate)
  const nextRouteDialAt = at + Math.ceil(intervalMs / rate)
  capacity.routeNextAt.set(route, nextRouteDialAt)
  return { kind: 'dial', dial: { campaignId, route, at, nextDialAt, nextRouteDialAt } }
}

/** A route without limits. */
export const FREE_ROUTE: RouteState = {
  intervalMs: 0,
  nextDialAt: 0,
  rate: 1,
  freeLines: Number.POSITIVE_INFINITY,
}

function pauseOf(campaign: CampaignState, wallet: DiallerState['wallet']): PausedReason | null {
  if (campaign.targetProblem !== null) return 'target_unavailable'
  if (wallet !== null) {
    const { autoPauseBelowPaise: floor } = campaign
    if (wallet.funds === 'short' || (floor > 0 && wallet.balancePaise < floor)) return 'low_balance'
  }
  if (campaign.probe !== null) {
    if (campaign.probe.carrierFailures > 0) return 'carrier_errors'
    return campaign.probe.unstarted > 0 ? 'service_errors' : null
  }
  const { ended, carrierFailures, failuresInRow, unstartedInRow } = campaign.recent
  if (unstartedInRow >= BREAKER_ROW) return 'service_errors'
  if (failuresInRow >= BREAKER_ROW) return 'carrier_errors'
  if (ended >= BREAKER_MIN_ATTEMPTS && carrierFailures * 2 >= ended) return 'carrier_errors'
  return null
}

/** Returns how long the breaker pauses a campaign (ms), by the number of such pauses in a row. */
export function resumeDelayMs(trips: number): number {
  return Math.min(LAST_RESUME_MS, FIRST_RESUME_MS * 2 ** Math.min(10, trips - 1))
}

function wait(until: number | null): Step {
  return { kind: 'wait', until }
}
