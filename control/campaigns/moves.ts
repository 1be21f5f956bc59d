import type { Db, Trx } from '../db/database.js'
import type { CampaignRow, CampaignStatus, PausedReason } from '../db/tables/campaigns.js'
import { insertEvent } from '../events/store.js'
import { recordCampaignChange } from '../live/changes.js'
import { countRecipients, settleWaiting } from '../recipients/store.js'
import { resumeDelayMs } from './dialler.js'
import { changeCampaign } from './store.js'

/*
 * The changes of a campaign's state. Each is one conditional update with its consequences in the same transaction.
 * It returns null, and changes nothing, if the campaign is in another state.
 */

/** States of a campaign that has not ended and was launched. */
export const ACTIVE: readonly CampaignStatus[] = ['scheduled', 'running', 'paused']

type Campaign = Pick<CampaignRow, 'id' | 'organizationId' | 'environment'>

/**
 * Pauses a campaign. Calls that are under way go on. After errors of the carrier or of this service it has a time at
 * which it tries again; a pause by the operator ends that.
 */
export async function pauseCampaign(
  trx: Trx,
  campaign: Campaign & Pick<CampaignRow, 'breakerTrips'>,
  reason: PausedReason,
  now: number,
): Promise<CampaignRow | null> {
  const breakerTrips = campaign.breakerTrips + 1
  const breaker =
    reason === 'carrier_errors' || reason === 'service_errors'
      ? { breakerTrips, resumesAt: now + resumeDelayMs(breakerTrips) }
      : { resumesAt: null }
  const change = {
    status: 'paused',
    pausedReason: reason,
    ...breaker,
    unreachableSince: null,
    updatedAt: now,
  } as const
  const from: CampaignStatus[] = [
    'scheduled',
    'running',
    ...(reason === 'operator' ? ['paused' as const] : []),
  ]
  const paused = await changeCampaign(trx, campaign, campaign.id, from, change)
  if (paused !== null) await publish(trx, paused, 'campaign.paused', now)
  return paused
}

/** Continues a paused campaign. Attempts before do not count for the breaker any more. */
export function resumeCampaign(
  trx: Trx,
  campaign: Campaign & Pick<CampaignRow, 'startsAt'>,
  now: number,
): Promise<CampaignRow | null> {
  const early = campaign.startsAt !== null && campaign.startsAt > now
  return changeCampaign(trx, campaign, campaign.id, ['paused'], {
    status: early ? 'scheduled' : 'running',
    pausedReason: null,
    breakerAt: now,
    breakerTrips: 0,
    resumesAt: null,
    updatedAt: now,
  })
}

/** Lets a campaign that the breaker paused try one call. */
export async function halfOpenCampaign(
  trx: Trx,
  campaign: Campaign,
  now: number,
): Promise<CampaignRow | null> {
  const change = {
    status: 'running',
    pausedReason: null,
    resumesAt: null,
    breakerAt: now,
    updatedAt: now,
  } as const
  const row = await trx
    .updateTable('campaigns')
    .set(change)
    .where('id', '=', campaign.id)
    .where('status', '=', 'paused')
    .where('resumesAt', '<=', now)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await recordCampaignChange(trx, row, row.id, now)
  return row
}

/** Continues at full pace after a call that reached its person. */
export function recoverCampaign(trx: Trx, campaign: Campaign, now: number): Promise<CampaignRow | null> {
  const change = { breakerTrips: 0, breakerAt: now, updatedAt: now } as const
  return changeCampaign(trx, campaign, campaign.id, ['running'], change)
}

/** Starts a campaign whose time has come. */
export function startCampaign(trx: Trx, campaign: Campaign, now: number): Promise<CampaignRow | null> {
  return changeCampaign(trx, campaign, campaign.id, ['scheduled'], { status: 'running', updatedAt: now })
}

/** Notes since when the number of a campaign cannot call for a cause that may pass. Null: it can again. */
export function setUnreachable(
  trx: Trx,
  campaign: Campaign,
  unreachableSince: number | null,
  now: number,
): Promise<CampaignRow | null> {
  const change = { unreachableSince, updatedAt: now } as const
  return changeCampaign(trx, campaign, campaign.id, ['scheduled', 'running'], change)
}

/** Ends a campaign that cannot start. */
export function failCampaign(
  trx: Trx,
  campaign: Campaign,
  failureReason: string,
  now: number,
): Promise<CampaignRow | null> {
  const change = { status: 'failed', failureReason, updatedAt: now } as const
  return changeCampaign(trx, campaign, campaign.id, ['scheduled'], change)
}

/** Stops a campaign for good. Recipients that wait are abandoned; calls that are under way go on. */
export async function stopCampaign(trx: Trx, campaign: Campaign, now: number): Promise<CampaignRow | null> {
  const change = { status: 'stopped', pausedReason: null, resumesAt: null, updatedAt: now } as const
  const stopped = await changeCampaign(trx, campaign, campaign.id, ACTIVE, change)
  if (stopped === null) return null
  await settleWaiting(trx, stopped, { outcome: 'abandoned' }, now)
  await recount(trx, stopped, now)
  return stopped
}

/**
 * Completes a campaign: recipients that still wait settle with their last outcome, and those that were never dialled
 * are excluded. Does nothing while a call is under way.
 */
export async function completeCampaign(
  trx: Trx,
  campaign: Campaign,
  now: number,
): Promise<CampaignRow | null> {
  const change = {
    status: 'completed',
    pausedReason: null,
    resumesAt: null,
    completedAt: now,
    updatedAt: now,
  } as const
  const completed = await changeCampaign(trx, campaign, campaign.id, ['running', 'paused'], change)
  if (completed === null) return null
  await settleWaiting(trx, completed, { outcome: 'excluded', excludedReason: 'outside_window' }, now)
  await recount(trx, completed, now)
  await publish(trx, completed, 'campaign.completed', now)
  return completed
}

/** Sets the counters of a campaign to what the rows of its recipients give. */
export async function recount(
  trx: Trx,
  campaign: Campaign & Pick<CampaignRow, 'uploaded'>,
  now: number,
): Promise<void> {
  const counters = await countRecipients(trx, campaign)
  await trx
    .updateTable('campaigns')
    .set({ ...counters, countedAt: now })
    .where('id', '=', campaign.id)
    .execute()
}

/**
 * Compares the counters of a campaign with the rows. Returns true if they differed and were corrected. The rows are
 * read without a lock; only a difference locks the campaign.
 */
export async function verifyCounters(
  db: Db,
  reads: Db,
  campaign: CampaignRow,
  now: number,
): Promise<boolean> {
  const rows = await countRecipients(reads, campaign)
  const same = Object.entries(rows).every(([name, value]) => Reflect.get(campaign, name) === value)
  return db.transaction().execute(async (trx) => {
    const locked = await trx
      .updateTable('campaigns')
      .set({ countedAt: now })
      .where('id', '=', campaign.id)
      .returningAll()
      .executeTakeFirst()
    if (same || locked === undefined) return false
    const exact = await countRecipients(trx, locked)
    if (Object.entries(exact).every(([name, value]) => Reflect.get(locked, name) === value)) return false
    await trx.updateTable('campaigns').set(exact).where('id', '=', campaign.id).execute()
    await recordCampaignChange(trx, campaign, campaign.id, now)
    return true
  })
}

async function publish(
  trx: Trx,
  campaign: Campaign,
  type: 'campaign.paused' | 'campaign.completed',
  now: number,
): Promise<void> {
  const { organizationId, environment, id } = campaign
  await insertEvent(trx, { organizationId, environment, type, subjects: { campaign: id } }, now)
}
