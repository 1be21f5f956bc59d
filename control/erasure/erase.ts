import type { Clock } from '../../media/base/clock.js'
import { recorder } from '../api/audited.js'
import type { RootKey } from '../base/root-key.js'
import { removeLocalFiles } from '../calls/lifecycle/local-files.js'
import { sealingJobId } from '../calls/lifecycle/seal-outcome.js'
import { isBeingStored } from '../calls/recording-file.js'
import { istDate } from '../compliance/calling-hours.js'
import { ruleOn } from '../compliance/dated-rule.js'
import { openEvidenceKeys } from '../compliance/evidence/seal.js'
import { appendRecord, recordsOf } from '../compliance/evidence/store.js'
import { eraseSuppressions } from '../compliance/suppression-store.js'
import type { Policy, PolicyInForce } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import type { ErasureRow } from '../db/tables/erasures.js'
import type { JobHandler, JobOutcome } from '../jobs/runner.js'
import { anyJobExists } from '../jobs/store.js'
import { wakeJob } from '../jobs/wake.js'
import type { ObjectStore } from '../objects/object-store.js'
import { isMoneyClaimed } from '../payments/topup-store.js'
import { diallerJob } from '../recipients/dialler-job.js'
import { campaignsOfPerson, eraseRecipient } from '../recipients/store.js'
import { eraseResult, resultJobId } from '../results/store.js'
import { ERASURE_KIND } from './store.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const CALL_BATCH = 50
const RECORD_BATCH = 5_000

export interface ErasureOptions {
  readonly db: Db
  readonly objects: ObjectStore
  readonly rootKey: RootKey
  readonly clock: Pick<Clock, 'wall'>
  readonly policy: PolicyInForce
  /** Local folder of recordings. */
  readonly folder: string
}

/** An erasure that has not ended. */
type Open = ErasureRow & { readonly e164: string }
type Delay = Pick<ErasureRow, 'delayReason' | 'scheduledFor'> & { readonly retryAt: number }

/**
 * Returns the handler that erases persons. Every step may run again after a crash: a call that was made anonymous is
 * not found by its number any more. The job runs again if a call was placed meanwhile.
 */
export function erasureHandler(options: ErasureOptions): JobHandler {
  const { db, clock, policy } = options
  return {
    kind: ERASURE_KIND,
    concurrency: 1,
    async run(job) {
      const row = await db.selectFrom('erasures').selectAll().where('id', '=', job.payload).executeTakeFirst()
      if (row === undefined || row.e164 === null) return async () => null
      const erasure: Open = { ...row, e164: row.e164 }
      const blocked = await presentDelay(db, erasure, clock.wall())
      if (blocked !== null) return delayed(erasure, blocked)
      let after = ''
      let delay: Delay | null = null
      for (;;) {
        const calls = await callsOf(db, erasure, after)
        for (const call of calls) {
          if (job.signal.aborted) return async () => clock.wall()
          const from = call.createdAt + floorDays(policy.rules, clock.wall()) * DAY_MS
          if (from > clock.wall()) delay = floorDelay(from, clock.wall())
          else if (await isUnfinished(db, call.id)) return delayed(erasure, notStored(clock.wall()))
          else await eraseCall(options, erasure, call.id)
        }
        after = calls.at(-1)?.id ?? ''
        if (calls.length < CALL_BATCH) break
      }
      if (delay !== null) return delayed(erasure, delay)
      if (!(await eraseRecords(options, erasure))) return async () => clock.wall()
      if (!(await eraseRecipients(db, erasure, clock.wall()))) {
        return delayed(erasure, liveCall(clock.wall()))
      }
      return (trx) => finish(trx, options.rootKey, erasure, clock.wall())
    },
  }
}

/** The text that stands for the number of an erased person. Rows of one erasure share it. */
function markerOf({ id }: Pick<ErasureRow, 'id'>): string {
  return `erased-${id}`
}

/** Returns why nothing may be erased now, or null. */
async function presentDelay(db: Db, erasure: Open, now: number): Promise<Delay | null> {
  const { organizationId, environment } = erasure
  const live = await callsWith(db, erasure)
    .select('id')
    .where('endedAt', 'is', null)
    .limit(1)
    .executeTakeFirst()
  if (live !== undefined) return liveCall(now)
  if (environment === 'test') return null
  const delayReason = await moneyReason(db, organizationId)
  return delayReason === null ? null : { delayReason, scheduledFor: null, retryAt: now + DAY_MS }
}

/** Returns why the calls of an organization may be needed as proof of what was paid, or null. */
async function moneyReason(
  db: Db,
  organizationId: string,
): Promise<'payment_dispute' | 'wallet_on_hold' | null> {
  if (await isMoneyClaimed(db, organizationId)) return 'payment_dispute'
  const held = await db
    .selectFrom('wallets')
    .select('organizationId')
    .where('organizationId', '=', organizationId)
    .where('onHold', '=', 1)
    .executeTakeFirst()
  return held === undefined ? null : 'wallet_on_hold'
}

function liveCall(now: number): Delay {
  return { delayReason: 'live_call', scheduledFor: null, retryAt: now + MINUTE_MS }
}

/** Returns for how long the law of the day keeps the data of calls. */
function floorDays({ erasureFloor }: Policy, now: number): number {
  return ruleOn(erasureFloor, istDate(now))?.days ?? 0
}

function floorDelay(from: number, now: number): Delay {
  return { delayReason: 'legal_floor', scheduledFor: from, retryAt: Math.min(from, now + DAY_MS) }
}

function notStored(now: number): Delay {
  return { delayReason: 'call_not_stored', scheduledFor: null, retryAt: now + MINUTE_MS }
}

function delayed({ id }: Open, { retryAt, ...delay }: Delay): JobOutcome {
  return async (trx) => {
    await trx
      .updateTable('erasures')
      .set({ state: 'delayed', ...delay })
      .where('id', '=', id)
      .execute()
    return retryAt
  }
}

/** Selects the calls that have the number of the person. */
function callsWith(db: Db | Trx, { organizationId, environment, e164 }: Open) {
  return db
    .selectFrom('calls')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where((eb) => eb.or([eb('toNumber', '=', e164), eb('fromNumber', '=', e164)]))
}

function callsOf(db: Db, erasure: Open, after: string) {
  return callsWith(db, erasure)
    .select(['id', 'createdAt'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(CALL_BATCH)
    .execute()
}

async function hasCall(trx: Trx, erasure: Open): Promise<boolean> {
  return (await callsWith(trx, erasure).select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Selects the sealed records that have the number of the person. */
function recordsWith(trx: Trx, erasure: Open) {
  return recordsOf(trx, erasure).clearSelect().select('seq').where('e164', '=', erasure.e164)
}

/** Returns true while a job still stores a recording of a call, extracts its result or seals its outcome. */
async function isUnfinished(db: Db, callId: string): Promise<boolean> {
  if (await anyJobExists(db, [sealingJobId(callId), resultJobId(callId)])) return true
  const parts = await db
    .selectFrom('transferRecordings')
    .select('name')
    .where('callId', '=', callId)
    .execute()
  return isBeingStored(db, callId, ...parts.map(({ name }) => name))
}

/** Removes what was said and recorded on a call and who it was with. The call and its charges stay. */
async function eraseCall(
  { db, objects, folder }: ErasureOptions,
  erasure: Open,
  callId: string,
): Promise<void> {
  const recordings = await db.selectFrom('recordings').select('key').where('callId', '=', callId).execute()
  const parts = await db.selectFrom('transferRecordings').select('key').where('callId', '=', callId).execute()
  // The files first: a crash leaves the rows, by which the next run finds them again.
  for (const { key } of [...recordings, ...parts]) await objects.delete(key)
  // The id of the call finds all files: a part that was never stored and the track of a person have no row.
  await removeLocalFiles(folder, callId)
  const marker = markerOf(erasure)
  await db.transaction().execute(async (trx) => {
    const tables = ['recordings', 'transferRecordings', 'transcriptSegments', 'callEvents'] as const
    for (const table of tables) {
      await trx.deleteFrom(table).where('callId', '=', callId).execute()
    }
    await trx
      .updateTable('transferAttempts')
      .set({ reason: null, brief: null })
      .where('callId', '=', callId)
      .execute()
    await eraseResult(trx, callId)
    await trx
      .updateTable('calls')
      .set({ variables: '{}', metadata: '{}', transfer: null })
      .set((eb) => ({
        toNumber: eb.case().when('toNumber', '=', erasure.e164).then(marker).else(eb.ref('toNumber')).end(),
        fromNumber: eb
          .case()
          .when('fromNumber', '=', erasure.e164)
          .then(marker)
          .else(eb.ref('fromNumber'))
          .end(),
      }))
      .where('id', '=', callId)
      .execute()
    await trx
      .updateTable('erasures')
      .set((eb) => ({ calls: eb('calls', '+', 1) }))
      .where('id', '=', erasure.id)
      .execute()
  })
}

/**
 * Removes the salts, numbers and copies of sealed records. A sealed record names the records that it touched. Returns
 * false, and leaves the records that remain, if a call was placed since the calls were erased: its record may have to stay.
 */
async function eraseRecords({ db, rootKey, clock }: ErasureOptions, erasure: Open): Promise<boolean> {
  const keys = openEvidenceKeys(rootKey)
  for (;;) {
    const batch = await db.transaction().execute(async (trx) => {
      const rows = await recordsWith(trx, erasure).orderBy('seq').limit(RECORD_BATCH).execute()
      if (rows.length === 0) return 'done'
      // A call is stored with its record, so that this later statement finds the call of every row.
      if (await hasCall(trx, erasure)) return 'called'
      const erased = rows.map(({ seq }) => seq)
      const part = { erasureId: erasure.id, erased }
      const record = { kind: 'erasure', callId: null, gateRunId: null, person: null, part } as const
      await appendRecord(trx, keys, erasure, record, clock.wall())
      await trx
        .updateTable('evidence')
        .set({ e164: null, salt: null, personal: null })
        .where('organizationId', '=', erasure.organizationId)
        .where('environment', '=', erasure.environment)
        .where('e164', '=', erasure.e164)
        .where('seq', '<=', erased.at(-1) ?? 0)
        .execute()
      await trx
        .updateTable('erasures')
        .set((eb) => ({ records: eb('records', '+', erased.length) }))
        .where('id', '=', erasure.id)
        .execute()
      return 'more'
    })
    if (batch !== 'more') return batch === 'done'
  }
}

/** Takes the person out of campaigns, one after another. Returns false while one of them calls or imports the person. */
async function eraseRecipients(db: Db, erasure: Open, now: number): Promise<boolean> {
  for (const campaignId of await campaignsOfPerson(db, erasure, erasure.e164)) {
    const done = await db.transaction().execute(async (trx) => {
      const erased = await eraseRecipient(trx, campaignId, erasure.e164, markerOf(erasure), now)
      // The last recipient completes its campaign.
      if (erased) await wakeJob(trx, diallerJob(erasure), now)
      return erased
    })
    if (!done) return false
  }
  return true
}

/**
 * Replaces the number in the remaining tables and ends the erasure. Returns null, or when the job runs again because the
 * person was called or became a recipient meanwhile.
 */
async function finish(trx: Trx, rootKey: RootKey, erasure: Open, now: number): Promise<number | null> {
  const { id, organizationId, environment, e164 } = erasure
  const marker = markerOf(erasure)
  const anonymous = { e164: marker, variables: '{}' }
  await trx
    .updateTable('checks')
    .set({ e164: marker })
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .execute()
  await trx
    .updateTable('consents')
    .set({ e164: marker, scope: '', evidenceRef: null })
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .execute()
  await trx
    .deleteFrom('registerAnswers')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .execute()
  await trx
    .updateTable('callbacks')
    .set({ status: 'canceled', reason: 'erased' })
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .where('status', 'in', ['scheduled', 'due'])
    .execute()
  await trx
    .updateTable('callbacks')
    .set({ ...anonymous, note: '' })
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .execute()
  await eraseSuppressions(trx, rootKey, erasure, e164, marker, now)
  // The last statements: a call that they do not find yet is placed after the erasure, with all its rows.
  if (await isNamed(trx, erasure)) return now
  const done = { e164: null, state: 'done', delayReason: null, scheduledFor: null, completedAt: now } as const
  await trx.updateTable('erasures').set(done).where('id', '=', id).execute()
  await recorder(trx, { organizationId, actor: null, requestId: null }, now)('erasure.completed', id)
  return null
}

/** Returns whether a call, a sealed record or a campaign has the number of the person. */
async function isNamed(trx: Trx, erasure: Open): Promise<boolean> {
  if (await hasCall(trx, erasure)) return true
  if ((await recordsWith(trx, erasure).limit(1).executeTakeFirst()) !== undefined) return true
  return (await campaignsOfPerson(trx, erasure, erasure.e164)).length > 0
}
