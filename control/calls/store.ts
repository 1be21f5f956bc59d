import { sql } from 'kysely'
import { countCapped, newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import { minuteRate } from '../billing/rating.js'
import { insertedOnce } from '../db/built-once.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import type { CallRow, NumberRow, RecordingRow, TranscriptSegmentRow } from '../db/tables/calling.js'
import { insertEvent } from '../events/store.js'
import type { Owner } from '../numbers/store.js'
import { callsWithDigits, type DigitCondition } from './digit-search.js'
import { LEASE_MS } from './lifecycle/leases.js'

/** A call with the columns of other tables that its view shows. */
export interface CallWithParts extends CallRow {
  readonly hasRecording: number
  readonly hasTranscript: number
  /** From the call's result. Null without one. */
  readonly summary: string | null
  readonly outputs: string | null
  readonly evaluation: string | null
  /** State of the result. Null without one. */
  readonly resultState: string | null
  /** Why the result is incomplete: a code of `ResultGap` when it is done, else the last error. */
  readonly resultError: string | null
  /** The body of the bot's statistics event, as JSON. Null without one. */
  readonly botStats: string | null
}

/** Fields of a call that are known when its row is made. */
export type NewCall = Pick<
  CallRow,
  | 'id'
  | 'organizationId'
  | 'environment'
  | 'direction'
  | 'fromNumber'
  | 'toNumber'
  | 'numberId'
  | 'agentId'
  | 'agentVersion'
  | 'agentVersionId'
  | 'routingMode'
  | 'purpose'
  | 'nodeId'
> & {
  readonly variables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly complianceRunId: string | null
  readonly evidenceId: string | null
  readonly idempotencyId: string | null
  /** Price of a minute (paise), 0 for a call that costs nothing. Read if it is missing. */
  readonly ratePaisePerMinute?: number
  readonly campaignId?: string | null
  readonly recipientId?: string | null
  readonly callbackId?: string | null
  /** Set if the call counts as an attempt from now on. */
  readonly sentAt?: number | null
}

const insertRows = insertedOnce('calls')

/** Inserts the row of a call and its `call.initiated` event. */
export async function insertCall(trx: Trx, call: NewCall, now: number): Promise<void> {
  const {
    variables,
    metadata,
    ratePaisePerMinute = await rateOf(trx, call),
    sentAt = null,
    campaignId = null,
    recipientId = null,
    callbackId = null,
    ...rest
  } = call
  await insertRows(trx, [
    {
      ...rest,
      status: call.direction === 'outbound' ? 'queued' : 'initiated',
      campaignId,
      recipientId,
      callbackId,
      disposition: null,
      endedReason: null,
      answeredBy: null,
      startedAt: now,
      ringingAt: null,
      answeredAt: null,
      endedAt: null,
      agentSeconds: 0,
      humanSeconds: 0,
      ratePaisePerMinute,
      sentAt,
      agentTookOverAt: null,
      agentRatePaisePerMinute: null,
      charges: '[]',
      billedPaise: 0,
      variables: JSON.stringify(variables),
      metadata: JSON.stringify(metadata),
      latency: null,
      error: null,
      sipCallId: null,
      leaseUntil: now + LEASE_MS,
      hangupRequestedAt: null,
      hangupCause: null,
      transfer: null,
      createdAt: now,
    },
  ])
  await insertEvent(
    trx,
    {
      organizationId: call.organizationId,
      environment: call.environment,
      type: 'call.initiated',
      subjects: { call: call.id },
    },
    now,
  )
}

export async function findCall(db: Db | Trx, owner: Owner, id: string): Promise<CallWithParts | null> {
  return (await withParts(db, owner).where('calls.id', '=', id).executeTakeFirst()) ?? null
}

/** Returns the call that a request placed, for a retry of that request. Returns null when it placed none. */
export async function findPlacedCall(
  db: Db | Trx,
  owner: Owner,
  idempotencyId: string,
): Promise<CallWithParts | null> {
  const row = await withParts(db, owner).where('calls.idempotencyId', '=', idempotencyId).executeTakeFirst()
  return row ?? null
}

export interface CallFilter {
  /** Digits only, see digit-search.ts. */
  readonly digits: string | null
  readonly status: string | undefined
  readonly disposition: string | undefined
  readonly direction: string | undefined
  readonly agentId: string | undefined
  readonly numberId: string | undefined
  readonly campaignId: string | undefined
  /** Unix ms. `startedAfter` is inclusive, `startedBefore` exclusive. */
  readonly startedAfter: number | undefined
  readonly startedBefore: number | undefined
}

/** Returns the query of all calls of an owner that a filter matches. `digits` is the condition of a search. */
function matchingCalls(db: Db, owner: Owner, filter: CallFilter, digits: DigitCondition | null) {
  const column = 'calls.organizationId'
  // The calls of a search and of a campaign are read from indexes that do not begin with their owner.
  const others = digits?.byId === true || filter.campaignId !== undefined
  let query = db
    .selectFrom('calls')
    .where(others ? unindexed(column) : sql.ref<string>(column), '=', owner.organizationId)
    .where('calls.environment', '=', owner.environment)
  if (digits !== null) query = query.where(digits.matches)
  for (const name of ['status', 'disposition', 'direction', 'agentId', 'numberId', 'campaignId'] as const) {
    const wanted = filter[name]
    if (wanted !== undefined) query = query.where(sql.ref<string>(`calls.${name}`), '=', wanted)
  }
  // The few calls that have not ended have an index of their own.
  if (filter.status !== undefined && filter.status !== 'ended')
    query = query.where('calls.endedAt', 'is', null)
  // A call starts when its row is made, and the indexes are in the order of `createdAt`.
  const { startedAfter, startedBefore } = filter
  for (const time of ['calls.startedAt', 'calls.createdAt'] as const) {
    if (startedAfter !== undefined) query = query.where(time, '>=', startedAfter)
    if (startedBefore !== undefined) query = query.where(time, '<', startedBefore)
  }
  return query
}

/** Lists calls, newest first. The first page carries the total. */
export async function listCalls(
  db: Db,
  owner: Owner,
  filter: CallFilter,
  page: PageRequest,
): Promise<Page<CallWithParts>> {
  const query = matchingCalls(db, owner, filter, await digitsOf(db, filter))
  return newestFirst(query.selectAll('calls').select(parts), page, {
    alias: 'calls',
    count: { db, query: query.select('calls.id') },
  })
}

/** Counts the calls that a filter matches, up to `limit` + 1. */
export async function countCalls(db: Db, owner: Owner, filter: CallFilter, limit: number): Promise<number> {
  const query = matchingCalls(db, owner, filter, await digitsOf(db, filter))
  return countCapped(db, query.select('calls.id'), limit)
}

function digitsOf(db: Db, { digits }: CallFilter): Promise<DigitCondition | null> {
  return digits === null ? Promise.resolve(null) : callsWithDigits(db, digits)
}

/** Asks the node that runs the call to hang up the next time it checks (leases.ts). */
export async function requestHangup(db: Db, owner: Owner, id: string, now: number): Promise<void> {
  await db
    .updateTable('calls')
    .set({ hangupRequestedAt: now, hangupCause: 'request' })
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('endedAt', 'is', null)
    .execute()
}

export async function findRecording(db: Db, owner: Owner, callId: string): Promise<RecordingRow | null> {
  const row = await db
    .selectFrom('recordings')
    .selectAll()
    .where('callId', '=', callId)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Lists the segments of a call in order of time. The caller has checked that the call belongs to the owner.
 */
export async function listSegments(db: Db | Trx, callId: string): Promise<readonly TranscriptSegmentRow[]> {
  return db
    .selectFrom('transcriptSegments')
    .selectAll()
    .where('callId', '=', callId)
    .orderBy('startMs')
    .orderBy('seq')
    .execute()
}

/** Returns the price of a minute (paise), which is fixed for the whole call. */
export async function rateOf(
  trx: Db | Trx,
  { organizationId, routingMode, numberId }: Pick<NewCall, 'organizationId' | 'routingMode' | 'numberId'>,
): Promise<number> {
  const known = await trx
    .selectFrom('organizations')
    .leftJoin('numbers', (join) => join.on('numbers.id', '=', numberId))
    .leftJoin('callingProfiles', 'callingProfiles.organizationId', 'organizations.id')
    .select(['numbers.sipTrunkId', 'callingProfiles.ratePaisePerMinute'])
    .where('organizations.id', '=', organizationId)
    .executeTakeFirst()
  return rateFor(routingMode, { sipTrunkId: known?.sipTrunkId ?? null }, known?.ratePaisePerMinute ?? null)
}

/** Returns the price of a minute (paise) over a number, for the price that was agreed with the organization, or null. */
export function rateFor(
  routingMode: CallRow['routingMode'],
  { sipTrunkId }: Pick<NumberRow, 'sipTrunkId'>,
  agreedPaise: number | null,
): number {
  return minuteRate({ ownVoice: routingMode !== 'svc_agent', ownTrunk: sipTrunkId !== null, agreedPaise })
}

const parts = [
  sql<number>`case when exists (select 1 from "recordings" where "recordings"."callId" = "calls"."id")
    then 1 else 0 end`.as('hasRecording'),
  sql<number>`case when exists (select 1 from "transcriptSegments" where "transcriptSegments"."callId" = "calls"."id")
    then 1 else 0 end`.as('hasTranscript'),
  resultOf('summary'),
  resultOf('outputs'),
  resultOf('evaluation'),
  resultOf('resultState', 'state'),
  resultOf('resultError', 'error'),
  // Only such calls have bot statistics; other calls skip the subquery.
  sql<
    string | null
  >`case when "calls"."routingMode" = 'byo_ws' then (select "callEvents"."body" from "callEvents"
    where "callEvents"."callId" = "calls"."id" and "callEvents"."type" = 'bot_stats' limit 1) end`.as(
    'botStats',
  ),
]

function resultOf<N extends string>(name: N, column: string = name) {
  return sql<string | null>`(select "callResults".${sql.ref(column)} from "callResults"
    where "callResults"."callId" = "calls"."id")`.as(name)
}

function withParts(db: Db | Trx, owner: Owner) {
  return db
    .selectFrom('calls')
    .selectAll('calls')
    .select(parts)
    .where(unindexed('calls.organizationId'), '=', owner.organizationId)
    .where('calls.environment', '=', owner.environment)
}
