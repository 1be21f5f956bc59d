import { sql } from 'kysely'
import { type Charge, RATES, type RatedCall, rateCall } from '../billing/rating.js'
import type { Db, Trx } from '../db/database.js'
import type { CallRow } from '../db/tables/calling.js'
import {
  availablePaise,
  extendHold,
  findEntry,
  findHold,
  hold,
  post,
  type Reference,
  releaseHold,
  reverse,
} from './ledger.js'
import { readWallet } from './store.js'
import { MIN_CALL_PAISE } from './view.js'

/*
 * Live calls are paid from the wallet: money is held when the call begins, the hold grows while the call lasts,
 * and the charges replace the hold when it ends. Each step shares its transaction with the change of the call.
 */

const MINUTE_MS = 60_000
/** A minute is held this long before it begins, so that an agent can still say its last line when it cannot be. */
const LEAD_MS = 15_000
/** Time of a BYE and its answer. */
const HANG_UP_MS = 300

type BilledCall = Pick<CallRow, 'id' | 'organizationId' | 'environment' | 'agentId'>

const referenceTo = (callId: string): Reference => ({ type: 'call', id: callId })

/** Holds money for a new call. Returns false when the wallet does not cover it. Test calls need none. */
export async function holdForCall(
  trx: Trx,
  call: Pick<BilledCall, 'id' | 'organizationId' | 'environment'>,
  now: number,
): Promise<boolean> {
  if (call.environment === 'test') return true
  return hold(trx, call.organizationId, referenceTo(call.id), MIN_CALL_PAISE, now)
}

/** From now on `extendCallHolds` keeps the hold of an answered call ahead of its charges. */
export async function startBilling(trx: Trx, call: BilledCall, answeredAt: number): Promise<void> {
  if (call.environment === 'test') return
  await trx
    .updateTable('walletHolds')
    .set({ extendAt: answeredAt })
    .where('organizationId', '=', call.organizationId)
    .where('referenceType', '=', 'call')
    .where('referenceId', '=', call.id)
    .execute()
}

/** Replaces the hold of a call that has ended by one ledger entry for each charge. */
export async function settleCall(
  trx: Trx,
  call: BilledCall,
  charges: readonly Charge[],
  now: number,
): Promise<void> {
  if (call.environment === 'test') return
  const { organizationId, id, agentId } = call
  await releaseHold(trx, organizationId, referenceTo(id), now)
  for (const { kind, seconds, ratePaisePerMinute, amountPaise } of charges) {
    if (amountPaise === 0) continue
    const posting = {
      type: 'call',
      amountPaise: -amountPaise,
      cause: `call:${id}:${kind}`,
      description: `Call, ${PARTS[kind]}: ${seconds} s at ${ratePaisePerMinute} paise a minute`,
      reference: referenceTo(id),
      agentId,
    } as const
    await post(trx, organizationId, posting, now)
  }
}

/**
 * Gives back the charge for the time with a bridged person, but for `keptPaise`: the cost of takeovers before the bridge.
 * `why` describes the entry. Returns false if the call has no such charge. The same charge is given back
 * once.
 */
export async function reverseBridge(
  trx: Trx,
  call: Pick<BilledCall, 'id' | 'organizationId'>,
  { keptPaise, why }: { readonly keptPaise: number; readonly why: string },
  now: number,
): Promise<boolean> {
  const entry = await findEntry(trx, call.organizationId, `call:${call.id}:human`)
  if (entry === null) return false
  const part = entry.amountPaise + keptPaise
  if (part !== 0) await reverse(trx, entry, why, now, part)
  return true
}

/** Returns the charge for takeovers before the bridge of a call, or null if there was none. */
export async function findTakeoverCharge(
  trx: Trx,
  call: Pick<
    CallRow,
    'id' | 'answeredAt' | 'ratePaisePerMinute' | 'agentTookOverAt' | 'agentRatePaisePerMinute'
  >,
  bridgedAt: number,
): Promise<Charge | null> {
  const person = await findPersonPart(trx, call.id, bridgedAt)
  const { charges } = rateCall({ ...call, ...person, endedAt: bridgedAt })
  return charges.find(({ kind, seconds }) => kind === 'human' && seconds > 0) ?? null
}

const PARTS: Readonly<Record<Charge['kind'], string>> = {
  agent: 'agent',
  fallback: 'agent in place of the bot',
  human: 'person',
}

/** A call whose wallet does not cover its next minute. The money that is held for it lasts until `paidUntil` (Unix ms). */
export interface ExhaustedCall {
  readonly id: string
  readonly paidUntil: number
}

/**
 * Raises the due holds of this node's answered calls. A hold then covers the call up to the end of its next minute.
 * If the wallet has less, it takes all that is left. A person costs the rate of the person. Only calls in `live` have another
 * minute: a call may have ended without its end being stored yet. Returns the calls for which less than the minute is
 * held.
 */
export async function extendCallHolds(
  db: Db,
  nodeId: string,
  live: ReadonlySet<string>,
  now: number,
): Promise<readonly ExhaustedCall[]> {
  const due = await db
    .selectFrom('walletHolds')
    .innerJoin('calls', (join) =>
      join.onRef('calls.id', '=', 'walletHolds.referenceId').on('walletHolds.referenceType', '=', 'call'),
    )
    .select(['calls.id', 'calls.organizationId', 'calls.ratePaisePerMinute'])
    .select(['calls.agentTookOverAt', 'calls.agentRatePaisePerMinute'])
    .select(sql<number>`"calls"."answeredAt"`.as('answeredAt'))
    .where('calls.nodeId', '=', nodeId)
    .where('calls.endedAt', 'is', null)
    .where('walletHolds.extendAt', '<=', now)
    .execute()
  const exhausted: ExhaustedCall[] = []
  for (const { id, organizationId, answeredAt, ...rates } of due) {
    if (!live.has(id)) continue
    const minutes = Math.floor((now - answeredAt + LEAD_MS) / MINUTE_MS) + 1
    const endedAt = answeredAt + minutes * MINUTE_MS
    const paidUntil = await db.transaction().execute(async (trx) => {
      const person = await findPersonPart(trx, id, endedAt)
      const priceAt = (end: number) => rateCall({ answeredAt, endedAt: end, ...rates, ...person }).billedPaise
      const lasts = (paise: number) => paidTime(paise, answeredAt, endedAt, priceAt)
      const amount = Math.max(MIN_CALL_PAISE, priceAt(endedAt))
      const extendAt = (paise: number) => lasts(paise) - LEAD_MS
      const held = await extendHold(trx, organizationId, referenceTo(id), amount, extendAt, now)
      return held === null ? endedAt : lasts(held)
    })
    if (paidUntil < endedAt) exhausted.push({ id, paidUntil })
  }
  return exhausted
}

/**
 * Returns when a call must end so that an amount covers its price (Unix ms): `endedAt` if the amount covers it until then,
 * else `HANG_UP_MS` before the end of the last second that it covers.
 */
function paidTime(
  paise: number,
  answeredAt: number,
  endedAt: number,
  priceAt: (endedAt: number) => number,
): number {
  let until = endedAt
  while (until > answeredAt && priceAt(until) > paise) until -= 1_000
  // The far side needs a moment to hang up. It must not begin another second.
  return until === endedAt ? endedAt : until - HANG_UP_MS
}

/** Returns whether the wallet covers a minute with a person that begins now. Test calls need no money. */
export async function coversPerson(
  db: Db,
  call: CallRow,
  personRatePaisePerMinute: number,
  now: number,
): Promise<boolean> {
  if (call.environment === 'test') return true
  const { id, organizationId, ...rates } = call
  const held = await findHold(db, organizationId, referenceTo(id))
  if (held === null) return true
  const endedAt = now + MINUTE_MS
  const { takenOver } = await findPersonPart(db, id, now)
  const { billedPaise } = rateCall({ ...rates, endedAt, takenOver, bridgedAt: now, personRatePaisePerMinute })
  return billedPaise <= held.amountPaise + availablePaise(await readWallet(db, organizationId, now))
}

/** The part of a call that persons had. */
export type PersonPart = Required<Pick<RatedCall, 'bridgedAt' | 'takenOver' | 'personRatePaisePerMinute'>>

/** The part of a call that no person had. */
export const NO_PERSON: PersonPart = {
  bridgedAt: null,
  takenOver: [],
  personRatePaisePerMinute: RATES.person,
}

/**
 * Returns the part that persons had of a call that lasts until `endedAt`: of a transfer, from the first bridge on, and of
 * takeovers that were given back or last. Their rate is charged for it.
 */
export async function findPersonPart(trx: Db | Trx, callId: string, endedAt: number): Promise<PersonPart> {
  const bridged = await trx
    .selectFrom('transferAttempts')
    .select(['bridgedAt', 'ratePaisePerMinute'])
    .where('callId', '=', callId)
    .where('bridgedAt', 'is not', null)
    .orderBy('bridgedAt')
    .executeTakeFirst()
  const takeovers = await trx
    .selectFrom('callMonitors')
    .innerJoin('calls', 'calls.id', 'callMonitors.callId')
    .innerJoin('numbers', 'numbers.id', 'calls.numberId')
    .select(['callMonitors.startedAt', 'callMonitors.endedAt', 'numbers.sipTrunkId'])
    .where('callMonitors.callId', '=', callId)
    .where('callMonitors.mode', '=', 'takeover')
    .where('callMonitors.startedAt', 'is not', null)
    .execute()
  const ownTrunk = takeovers.some(({ sipTrunkId }) => sipTrunkId !== null)
  return {
    bridgedAt: bridged === undefined ? null : Number(bridged.bridgedAt),
    takenOver: takeovers.map((taken) => ({
      from: Number(taken.startedAt),
      to: Number(taken.endedAt ?? endedAt),
    })),
    personRatePaisePerMinute:
      bridged?.ratePaisePerMinute ?? (ownTrunk ? RATES.personOverOwnTrunk : RATES.person),
  }
}
