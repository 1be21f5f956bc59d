import { sql } from 'kysely'
import type { Db } from '../db/database.js'
import { sweep } from '../db/sweep.js'
import type { EvidenceKeys } from './evidence/seal.js'
import { appendRecord, type Owner, recordsOf } from './evidence/store.js'

const DAY_MS = 24 * 3_600_000

/** Days for which checks and sealed records are kept. Three years contain a leap day at most. */
export const RECORD_DAYS = { test: 30, live: 3 * 365 + 1 } as const
const CHECK_BATCH = 500
const RECORD_BATCH = 5_000
/** Records about the chain. They alone do not start a removal, which would leave another one of them. */
const ABOUT_CHAIN = ['retention', 'close']

/** Deletes expired checks. Returns true if there may be more. */
export async function sweepChecks(db: Db, now: number): Promise<boolean> {
  let more = false
  for (const environment of ['test', 'live'] as const) {
    const where = sql<boolean>`"environment" = ${sql.lit(environment)} and "checkedAt" < ${expiry(environment, now)}`
    more = (await sweep(db, { table: 'checks', key: 'id', where, batch: CHECK_BATCH })) || more
  }
  return more
}

/**
 * Removes the expired records of one chain, from its beginning. A sealed record states the last one that was
 * removed and its hash, so that the rest of the chain stays verifiable. A chain is swept once a day at most.
 * Returns true if there may be more.
 */
export async function sweepEvidence(db: Db, keys: EvidenceKeys, now: number): Promise<boolean> {
  for (const environment of ['test', 'live'] as const) {
    const before = expiry(environment, now) - DAY_MS
    const chain = await db
      .selectFrom('evidenceHeads as head')
      .innerJoin('evidence as first', (join) =>
        join
          .onRef('first.organizationId', '=', 'head.organizationId')
          .onRef('first.environment', '=', 'head.environment')
          .onRef('first.seq', '=', 'head.keptFrom'),
      )
      .select('head.organizationId')
      .where('head.environment', '=', environment)
      .where('first.sealedAt', '<', before)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('evidence')
            .select('evidence.id')
            .whereRef('evidence.organizationId', '=', 'head.organizationId')
            .whereRef('evidence.environment', '=', 'head.environment')
            .where('evidence.sealedAt', '<', before)
            .where('evidence.kind', 'not in', ABOUT_CHAIN),
        ),
      )
      .limit(1)
      .executeTakeFirst()
    if (chain === undefined) continue
    await removeBeginning(db, keys, { organizationId: chain.organizationId, environment }, now)
    return true
  }
  return false
}

async function removeBeginning(db: Db, keys: EvidenceKeys, owner: Owner, now: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const oldest = await recordsOf(trx, owner)
      .clearSelect()
      .select(['seq', 'hash', 'sealedAt'])
      .orderBy('seq')
      .limit(RECORD_BATCH)
      .execute()
    const kept = oldest.findIndex(({ sealedAt }) => sealedAt >= expiry(owner.environment, now))
    const last = oldest.at(kept === -1 ? -1 : kept - 1)
    if (last === undefined || kept === 0) return
    const part = { throughSeq: last.seq, throughHash: last.hash }
    const record = { kind: 'retention', callId: null, gateRunId: null, person: null, part } as const
    await appendRecord(trx, keys, owner, record, now)
    await trx
      .updateTable('evidenceHeads')
      .set({ keptFrom: last.seq + 1 })
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .execute()
    await trx
      .deleteFrom('evidenceAnchors')
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .where('seq', '<=', last.seq)
      .execute()
    await trx
      .deleteFrom('evidence')
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .where('seq', '<=', last.seq)
      .execute()
  })
}

function expiry(environment: 'test' | 'live', now: number): number {
  return now - RECORD_DAYS[environment] * DAY_MS
}
