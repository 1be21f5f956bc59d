import type { Deps } from '../../api/deps.js'
import type { Charge } from '../../billing/rating.js'
import type { Db, Trx } from '../../db/database.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { TransferAttemptRow } from '../../db/tables/transfers.js'
import type { JobHandler } from '../../jobs/runner.js'
import { addJobs, type NewJob } from '../../jobs/store.js'
import { reduceSpending } from '../../recipients/settle.js'
import { findTakeoverCharge, reverseBridge } from '../../wallet/call-billing.js'
import { failBridged } from './store.js'

/*
 * After a call with a bridged person the carrier is asked whether the person answered. A network announcement also
 * answers with 200: then the record of the carrier denies the bridge, and its charge is given back. A bridge on early media,
 * over a carrier that never reports the answer, is paid for only if a record proves it.
 */

const KIND = 'carrier-record'
/** Times of the questions after the end of the call (ms). Records appear late. */
const LOOK_UPS = [15_000, 60_000, 300_000] as const
const LIMIT_MS = 15_000
const AT_ONCE = 4

/** Returns the job that asks for the record of a bridge. Add it in the transaction that ends the call. */
export function carrierRecordJob(callId: string, endedAt: number): NewJob {
  return { id: `${KIND}:${callId}`, kind: KIND, dueAt: endedAt + LOOK_UPS[0], payload: callId }
}

/** Asks for the record of a leg now, because the carrier reported something about the leg. */
export async function askForRecord(
  db: Db,
  leg: { readonly provider: string; readonly sipCallId: string },
  now: number,
): Promise<void> {
  const attempt = await db
    .selectFrom('transferAttempts')
    .innerJoin('calls', 'calls.id', 'transferAttempts.callId')
    .innerJoin('numbers', 'numbers.id', 'calls.numberId')
    .select('transferAttempts.callId')
    .where('transferAttempts.sipCallId', '=', leg.sipCallId)
    .where('numbers.provider', '=', leg.provider)
    .where('calls.endedAt', 'is not', null)
    .executeTakeFirst()
  // A call that goes on is asked about when it has ended.
  if (attempt === undefined) return
  const { callId } = attempt
  await addJobs(db, [{ id: `${KIND}:${callId}:callback`, kind: KIND, dueAt: now, payload: callId }], now)
}

type RecordDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'carriers'>

export function carrierRecordHandler(deps: RecordDeps): JobHandler {
  return {
    kind: KIND,
    concurrency: AT_ONCE,
    async run({ payload: callId }) {
      const again = await checkBridge(deps, callId)
      return async () => again
    },
  }
}

/** Asks for the record of the bridge of a call. Returns the time of the next question (Unix ms), or null. */
async function checkBridge(deps: RecordDeps, callId: string): Promise<number | null> {
  const { db, clock, log, carriers } = deps
  const bridged = await readBridged(db, callId)
  if (bridged === null) return null
  const { call, attempt, provider, from, to } = bridged
  const carrier = carriers.find(call.environment, provider)
  const { sipCallId } = attempt
  const now = clock.wall()
  if (carrier === null || carrier.callRecord === null || sipCallId === null) {
    await waiveUnproven(db, log, bridged, now)
    return null
  }
  const { callRecord } = carrier
  const leg = { sipCallId, from, to, startedAt: attempt.requestedAt }
  const found = await carriers.ask(carrier, LIMIT_MS, (signal) => callRecord(leg, signal))
  if (found.ok && found.value !== null) {
    const { answered } = found.value
    log.info({ callId, transferId: attempt.id, provider, answered }, 'transfer.carrier_record')
    if (!answered) await db.transaction().execute((trx) => denyBridge(trx, call, attempt, clock.wall()))
    return null
  }
  if (!found.ok) log.warn({ callId, provider, reason: found.reason }, 'transfer.carrier_record_failed')
  const endedAt = call.endedAt ?? now
  const next = LOOK_UPS.map((after) => endedAt + after).find((at) => at > now) ?? null
  if (next === null) await waiveUnproven(db, log, bridged, now)
  return next
}

interface Bridged {
  readonly call: CallRow
  readonly attempt: TransferAttemptRow
  readonly provider: string
  readonly from: string
  /** The person's number, or empty if the destination was deleted since. */
  readonly to: string
}

/** Returns the bridge of an ended call over a carrier of the service, or null. */
async function readBridged(db: Db, callId: string): Promise<Bridged | null> {
  const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (call === undefined || call.endedAt === null) return null
  const number = await db
    .selectFrom('numbers')
    .select(['e164', 'provider', 'sipTrunkId'])
    .where('id', '=', call.numberId)
    .executeTakeFirst()
  // The carrier of a customer's own trunk is not asked.
  if (number === undefined || number.sipTrunkId !== null) return null
  const attempt = await db
    .selectFrom('transferAttempts')
    .selectAll()
    .where('callId', '=', callId)
    .where('status', 'in', ['bridged', 'completed'])
    .where('bridgedAt', 'is not', null)
    .executeTakeFirst()
  if (attempt === undefined) return null
  const destination = await db
    .selectFrom('transferDestinations')
    .select('e164')
    .where('id', '=', attempt.destinationId)
    .executeTakeFirst()
  return { call, attempt, provider: number.provider, from: number.e164, to: destination?.e164 ?? '' }
}

/**
 * Fails a bridge that the carrier denies, with its event, and gives its charge back. Does nothing the second time.
 */
async function denyBridge(trx: Trx, call: CallRow, attempt: TransferAttemptRow, now: number): Promise<void> {
  if (!(await failBridged(trx, attempt.id, now))) return
  await giveChargeBack(trx, call, attempt, 'The carrier denies the bridge to the person', now)
}

/**
 * Gives back the charge of a bridge for which neither signalling nor a record of the carrier proves an answer. The attempt
 * stays as it is: nothing proves that there was none.
 */
async function waiveUnproven(
  db: Db,
  log: RecordDeps['log'],
  { call, attempt }: Bridged,
  now: number,
): Promise<void> {
  if (attempt.answeredAt !== null) return
  const isWaived = await db
    .transaction()
    .execute((trx) => giveChargeBack(trx, call, attempt, 'No record proves an answer of the person', now))
  if (isWaived) log.warn({ callId: call.id, transferId: attempt.id }, 'transfer.charge_waived')
}

/**
 * Gives the charge for the time with a bridged person back. The cost of takeovers before it stays. Returns false, and changes
 * nothing, if the call has no such charge any more.
 */
async function giveChargeBack(
  trx: Trx,
  call: CallRow,
  attempt: TransferAttemptRow,
  why: string,
  now: number,
): Promise<boolean> {
  const all = JSON.parse(call.charges) as readonly Charge[]
  const { bridgedAt } = attempt
  const kept = bridgedAt === null ? null : await findTakeoverCharge(trx, call, bridgedAt)
  const charges = [...all.filter(({ kind }) => kind !== 'human'), ...(kept === null ? [] : [kept])]
  const billedPaise = charges.reduce((sum, { amountPaise }) => sum + amountPaise, 0)
  const remaining = JSON.stringify(charges)
  if (remaining === call.charges) return false
  const changed = await trx
    .updateTable('calls')
    .set({ charges: remaining, billedPaise, humanSeconds: kept?.seconds ?? 0 })
    .where('id', '=', call.id)
    // Another question may have given it back meanwhile.
    .where('charges', '=', call.charges)
    .returning('id')
    .executeTakeFirst()
  if (changed === undefined) return false
  await reduceSpending(trx, call, call.billedPaise - billedPaise)
  if (call.environment === 'live')
    await reverseBridge(trx, call, { keptPaise: kept?.amountPaise ?? 0, why }, now)
  return true
}
