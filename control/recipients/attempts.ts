import { sql } from 'kysely'
import type { Db, Trx } from '../db/database.js'
import { skipLocked } from '../db/skip-locked.js'
import type { RecipientRow } from '../db/tables/campaigns.js'
import { recordCampaignChange } from '../live/changes.js'

/*
 * The attempts of recipients. Each step is one conditional statement, or shares the transaction of the call that it
 * belongs to. Every transaction changes the campaign before its recipients, so that two of them never wait for each
 * other.
 */

/** Time that a process holds a recipient before its call exists (ms). A crash frees the recipient after it. */
export const CLAIM_MS = 30_000

/** Dials in a row that this service could not start, after which a recipient is excluded. */
const MAX_UNDONE = 20
const FIRST_UNDONE_MS = 5_000
const LAST_UNDONE_MS = 3_600_000
/** Why a recipient is excluded after `MAX_UNDONE` dials. */
export const UNDONE_REASON = 'service_errors'

/*
 * Conditions of the partial indexes on recipients, with the values in the text: SQLite takes such an index only if it sees the values
 * when it prepares the statement.
 */

/** Holds for recipients that wait for a dial or are held for one. */
export const WAITS = sql<boolean>`"status" in ('pending', 'retry_wait', 'queued')`
/** Holds for recipients that are held for a dial, ring or talk. */
export const IS_BUSY = sql<boolean>`"status" in ('queued', 'dialing', 'in_call')`

/** The claim of one attempt was lost, or the campaign stopped dialling. The transaction of the dial is undone. */
export class AttemptLostError extends Error {
  constructor(recipientId: string) {
    super(`the attempt at ${recipientId} is no longer this process's`)
    this.name = 'AttemptLost'
  }
}

/** A recipient held by one process for one attempt. */
export interface Claim {
  readonly recipient: RecipientRow
  readonly owner: string
}

/**
 * Claims the next recipient of a campaign in one statement: the retry that is due longest, else the first one that
 * was not dialled. Recipients above `uploaded` belong to an import that is not complete. Returns null if none is due.
 */
export async function claimRecipient(
  db: Db | Trx,
  campaign: { readonly id: string; readonly uploaded: number },
  owner: string,
  now: number,
): Promise<Claim | null> {
  const skip = skipLocked(db)
  const waiting = sql`"campaignId" = ${campaign.id} and "position" <= ${campaign.uploaded}
    and ${WAITS}`
  const { rows } = await sql<RecipientRow>`
    update "campaignRecipients"
    set "status" = 'queued', "claimedBy" = ${owner}, "nextAttemptAt" = ${now + CLAIM_MS}
    where "id" = coalesce(
      (select "id" from "campaignRecipients" where ${waiting} and "nextAttemptAt" > 0 and "nextAttemptAt" <= ${now}
        order by "nextAttemptAt", "position" limit 1 ${skip}),
      (select "id" from "campaignRecipients" where ${waiting} and "nextAttemptAt" = 0
        order by "position" limit 1 ${skip}))
    returning *`.execute(db)
  const [recipient] = rows
  return recipient === undefined ? null : { recipient, owner }
}

/**
 * Makes the claim an attempt with a call. Call it in the transaction that makes the call. Throws `AttemptLostError` if
 * the campaign does not run any longer or the claim is lost.
 */
export async function bindAttempt(trx: Trx, claim: Claim, callId: string, now: number): Promise<void> {
  const { recipient, owner } = claim
  const first = recipient.lastAttemptAt === null
  const campaign = await trx
    .updateTable('campaigns')
    .set((column) => ({ dialed: column('dialed', '+', first ? 1 : 0) }))
    .where('id', '=', recipient.campaignId)
    .where('status', '=', 'running')
    .returning('id')
    .executeTakeFirst()
  if (campaign === undefined) throw new AttemptLostError(recipient.id)
  const bound = await trx
    .updateTable('campaignRecipients')
    .set({
      status: 'dialing',
      attempts: recipient.attempts + 1,
      lastAttemptAt: now,
      lastCallId: callId,
      claimedBy: null,
    })
    .where('id', '=', recipient.id)
    .where('status', '=', 'queued')
    .where('claimedBy', '=', owner)
    .where('attempts', '=', recipient.attempts)
    .returning('id')
    .executeTakeFirst()
  if (bound === undefined) throw new AttemptLostError(recipient.id)
}

/** Gives a claim back without an attempt. The recipient waits until `at` (Unix ms). */
export async function releaseClaim(
  db: Db | Trx,
  { recipient, owner }: Claim,
  at: number,
  undone = recipient.undone,
): Promise<void> {
  await db
    .updateTable('campaignRecipients')
    .set({ status: waitingStatus(recipient.attempts), claimedBy: null, nextAttemptAt: at, undone })
    .where('id', '=', recipient.id)
    .where('status', '=', 'queued')
    .where('claimedBy', '=', owner)
    .execute()
}

/** Gives back a claim whose dial failed in this service: the recipient waits, or is excluded if that happens too often. */
export async function releaseUndone(db: Db, claim: Claim, now: number): Promise<void> {
  const undone = claim.recipient.undone + 1
  const waitMs = undoneWaitMs(undone)
  if (waitMs === null) {
    await excludeRecipient(db, claim, UNDONE_REASON, now)
    return
  }
  await releaseClaim(db, claim, now + waitMs, undone)
}

/**
 * Returns how long a recipient waits (ms) after dials in a row that this service could not start: 5 s, doubled with each, at most
 * an hour. Null if the recipient is not dialled any more.
 */
export function undoneWaitMs(undone: number): number | null {
  return undone >= MAX_UNDONE ? null : Math.min(LAST_UNDONE_MS, FIRST_UNDONE_MS * 2 ** (undone - 1))
}

/** Returns the status of a recipient that waits. */
export function waitingStatus(attempts: number): 'pending' | 'retry_wait' {
  return attempts === 0 ? 'pending' : 'retry_wait'
}

/**
 * Settles a claimed recipient that may not be called. A recipient that was dialled before keeps its last outcome and
 * does not count as excluded.
 */
export async function excludeRecipient(
  db: Db,
  { recipient, owner }: Claim,
  reason: string,
  now: number,
): Promise<void> {
  const never = recipient.attempts === 0
  await db.transaction().execute(async (trx) => {
    await addToCounters(trx, recipient.campaignId, { settled: 1, excluded: never ? 1 : 0 })
    const settled = await trx
      .updateTable('campaignRecipients')
      .set({
        status: 'settled',
        ...(never ? { outcome: 'excluded' } : {}),
        excludedReason: reason,
        claimedBy: null,
        settledAt: now,
      })
      .where('id', '=', recipient.id)
      .where('status', '=', 'queued')
      .where('claimedBy', '=', owner)
      .returning('id')
      .executeTakeFirst()
    if (settled === undefined) {
      await addToCounters(trx, recipient.campaignId, { settled: -1, excluded: never ? -1 : 0 })
    } else await recordCampaignChange(trx, recipient, recipient.campaignId, now)
  })
}

/** Adds to counters of a campaign and thereby locks its row until the end of the transaction. */
export async function addToCounters(
  trx: Trx,
  campaignId: string,
  added: Partial<Record<'total' | 'dialed' | 'connected' | 'excluded' | 'settled', number>>,
): Promise<void> {
  const counters = Object.entries(added) as [keyof typeof added, number][]
  await trx
    .updateTable('campaigns')
    .set((column) => Object.fromEntries(counters.map(([name, by]) => [name, column(name, '+', by)])))
    .where('id', '=', campaignId)
    .execute()
}
