import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'
import type { CampaignStatus, RecipientRow } from '../db/tables/campaigns.js'
import { wakeJob } from '../jobs/wake.js'
import { findOutboundTrunk } from '../trunks/store.js'
import { addToCounters, UNDONE_REASON, undoneWaitMs, waitingStatus } from './attempts.js'
import { diallerJob } from './dialler-job.js'
import { retryAt } from './retry.js'
import { routeOf, slowRoute } from './route-pace.js'

/*
 * Consequences of the calls of campaigns for their recipients. Each function runs in the transaction of the call's change.
 */

/** An agent whose first sound came later was late (ms). */
const LATE_MS = 2_000
/** Pause before a dial that found no line or no port is repeated (ms). */
const UNDONE_MS = 5_000
/** The same for a callback, which has no pace (ms). */
const CALLBACK_UNDONE_MS = 60_000

/** Marks the recipient of a call that was answered. */
export async function attemptAnswered(trx: Trx, call: CallRow, at: number): Promise<void> {
  const { campaignId, recipientId } = call
  if (campaignId === null || recipientId === null) return
  const recipient = await trx
    .selectFrom('campaignRecipients')
    .select('connectedAt')
    .where('id', '=', recipientId)
    .executeTakeFirst()
  if (recipient === undefined) return
  if (recipient.connectedAt === null) await addToCounters(trx, campaignId, { connected: 1 })
  await trx
    .updateTable('campaignRecipients')
    .set({ status: 'in_call', connectedAt: recipient.connectedAt ?? at })
    .where('id', '=', recipientId)
    .where('lastCallId', '=', call.id)
    .where('status', '=', 'dialing')
    .execute()
}

/** How the call of an attempt ended. */
export interface AttemptEnd {
  /** False if no INVITE was sent. The attempt then does not count. */
  readonly sent: boolean
  /** SIP status that refused the call, or null. */
  readonly sip: number | null
  /** True if this service failed while the call was under way: its outcome is not known. */
  readonly lost: boolean
  /** Time from the answer to the first sound of the agent (ms). Null if the agent made none. */
  readonly firstAudioMs: number | null
}

/** Settles the recipient of a call that has ended, or plans its next attempt. `call` is the ended row. */
export async function attemptEnded(trx: Trx, call: CallRow, end: AttemptEnd, now: number): Promise<void> {
  const { campaignId, recipientId } = call
  if (campaignId === null || recipientId === null) return
  // Read without a lock: while it rings and talks, only the events of its call change a recipient, and nothing changes the rule.
  const recipient = await trx
    .selectFrom('campaignRecipients')
    .innerJoin('campaigns', 'campaigns.id', 'campaignRecipients.campaignId')
    .selectAll('campaignRecipients')
    .select(['campaigns.attempts as mostAttempts', 'campaigns.backoff'])
    .select(['campaigns.intervalMinutes', 'campaigns.retryOn'])
    .where('campaignRecipients.id', '=', recipientId)
    .where('campaignRecipients.lastCallId', '=', call.id)
    .where('campaignRecipients.status', 'in', ['dialing', 'in_call'])
    .executeTakeFirst()
  const outcome = end.lost ? 'unknown' : (call.disposition ?? 'unknown')
  const planned =
    recipient === undefined || !end.sent
      ? null
      : retryAt({ ...recipient, attempts: recipient.mostAttempts }, recipient.attempts, outcome, now)
  const settles = recipient !== undefined && end.sent
  // Locks the campaign before its route and its recipient, as a dial does.
  const campaign = await trx
    .updateTable('campaigns')
    .set((column) => ({
      spentPaise: column('spentPaise', '+', call.billedPaise),
      lateAgentSound: column('lateAgentSound', '+', isLate(call, end) ? column.ref('speaksFirst') : 0),
      ...(settles ? { settled: planned === null ? column('settled', '+', 1) : settledIfOver() } : {}),
    }))
    .where('id', '=', campaignId)
    .returning('status')
    .executeTakeFirst()
  if ((end.sip === 429 || end.sip === 503) && (await othersFailed(trx, call, now))) {
    await slowRouteOf(trx, call, now)
  }
  if (campaign === undefined || recipient === undefined) return
  const over = !GOES_ON.includes(campaign.status)
  const spentPaise = recipient.spentPaise + call.billedPaise
  const change = (set: Partial<RecipientRow>) =>
    trx.updateTable('campaignRecipients').set(set).where('id', '=', recipient.id).execute()
  const settle = (outcome: string) => change({ status: 'settled', outcome, spentPaise, settledAt: now })
  if (!end.sent) {
    const attempts = recipient.attempts - 1
    if (attempts === 0) await addToCounters(trx, campaignId, { dialed: -1 })
    await change({ attempts, ...(attempts === 0 ? { lastAttemptAt: null } : {}) })
    if (over) {
      await addToCounters(trx, campaignId, { settled: 1 })
      await settle(recipient.outcome ?? 'abandoned')
      return
    }
    const undone = recipient.undone + (end.lost ? 1 : 0)
    const waitMs = end.lost ? undoneWaitMs(undone) : UNDONE_MS
    if (waitMs === null) {
      const never = attempts === 0
      await addToCounters(trx, campaignId, { settled: 1, excluded: never ? 1 : 0 })
      await change({
        ...{ status: 'settled', excludedReason: UNDONE_REASON, undone, settledAt: now },
        ...(never ? { outcome: 'excluded' } : {}),
      })
    } else await change({ status: waitingStatus(attempts), undone, nextAttemptAt: now + waitMs })
    return
  }
  const again = over ? null : planned
  if (recipient.undone > 0) await change({ undone: 0 })
  if (again === null) await settle(outcome)
  else await change({ status: 'retry_wait', outcome, spentPaise, nextAttemptAt: again })
}

/** States of a campaign that dials its recipients again. */
const GOES_ON: readonly CampaignStatus[] = ['running', 'paused']

/** Returns the counter of settled recipients, with one more if the campaign does not dial any more. */
function settledIfOver(): RawBuilder<number> {
  const states = sql.join(GOES_ON.map((status) => sql.lit(status)))
  return sql<number>`"settled" + case when "status" in (${states}) then 0 else 1 end`
}

/** Makes the callback of a call that never left this process due again. */
export async function callbackUndone(trx: Trx, call: CallRow, now: number): Promise<void> {
  const { callbackId } = call
  if (callbackId === null) return
  const reopened = await trx
    .updateTable('callbacks')
    .set({ status: 'due', dueAt: now + CALLBACK_UNDONE_MS, resultCallId: null, reason: 'not_sent' })
    .where('id', '=', callbackId)
    .where('status', '=', 'dialled')
    .where('resultCallId', '=', call.id)
    .returning('id')
    .executeTakeFirst()
  if (reopened !== undefined) await wakeJob(trx, diallerJob(call), now)
}

/** Takes a part of the price of an ended call off its campaign and its recipient, because it was given back. */
export async function reduceSpending(
  trx: Trx,
  { campaignId, recipientId }: Pick<CallRow, 'campaignId' | 'recipientId'>,
  paise: number,
): Promise<void> {
  if (campaignId === null || recipientId === null || paise === 0) return
  // Locks the campaign before its recipient.
  await trx
    .updateTable('campaigns')
    .set((column) => ({ spentPaise: column('spentPaise', '-', paise) }))
    .where('id', '=', campaignId)
    .execute()
  await trx
    .updateTable('campaignRecipients')
    .set((column) => ({ spentPaise: column('spentPaise', '-', paise) }))
    .where('id', '=', recipientId)
    .execute()
}

/** Returns whether a person or a machine answered and heard no agent in time. */
function isLate({ answeredAt, endedAt, disposition }: CallRow, { firstAudioMs }: AttemptEnd): boolean {
  if (answeredAt === null || endedAt === null || disposition !== 'answered') return false
  return (firstAudioMs ?? endedAt - answeredAt) > LATE_MS
}

/** Time (ms) in which a carrier that has too many calls fails calls to several numbers. */
const OTHERS_MS = 60_000

/**
 * Returns whether the carrier has lately failed a call of the campaign to another number, too. An answer about one
 * number alone may concern that number only.
 */
async function othersFailed(trx: Trx, call: CallRow, now: number): Promise<boolean> {
  const other = await trx
    .selectFrom('calls')
    .select('id')
    .where('campaignId', '=', call.campaignId)
    .where('createdAt', '>', now - OTHERS_MS)
    // The value is in the text, so that SQLite uses the partial index.
    .where('carrierFailed', '=', sql.lit(1))
    .where('endedAt', 'is not', null)
    .where('toNumber', '!=', call.toNumber)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

async function slowRouteOf(trx: Trx, call: CallRow, now: number): Promise<void> {
  const number = await trx
    .selectFrom('numbers')
    .selectAll()
    .where('id', '=', call.numberId)
    .executeTakeFirst()
  if (number === undefined) return
  await slowRoute(trx, routeOf(number, await findOutboundTrunk(trx, number)), call.createdAt, now)
}
