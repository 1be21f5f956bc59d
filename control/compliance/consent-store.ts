import { type SqlBool, sql } from 'kysely'
import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { RootKey } from '../base/root-key.js'
import type { Policy } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import { sweep } from '../db/sweep.js'
import type { ConsentRow } from '../db/tables/compliance.js'
import { lockConsents } from './consent-lock.js'
import { type ConsentWrite, consentTimes } from './consent-rules.js'
import { isActive } from './consent-state.js'
import { RECORD_DAYS } from './retention.js'
import { type Author, lockouts, type Owner } from './suppression-store.js'

/** Why one consent was not recorded. */
export interface ConsentRefusal {
  readonly code: 'validation_error' | 'conflict'
  readonly message: string
  readonly path: string | null
  /** Unix ms. Set within the 90 days after an opt-out. */
  readonly lockedUntil: number | null
}

type Recorded = ConsentRow | ConsentRefusal

export function isConsentRefusal(recorded: Recorded): recorded is ConsentRefusal {
  return 'message' in recorded
}

type Current = Pick<ConsentRow, 'id' | 'e164' | 'purpose' | 'kind' | 'expiresAt' | 'revokedAt'>

/** Rows of one statement. A database limits the parameters of a statement. */
const BATCH = 500

/**
 * Records consents, each on its own, and returns what became of each, in order. A consent replaces the one for the
 * same number and purpose; of several in one request the last remains.
 */
export async function recordConsents(
  trx: Trx,
  { rules, rootKey }: { readonly rules: Policy; readonly rootKey: RootKey },
  owner: Owner,
  writes: readonly ConsentWrite[],
  by: Author,
  now: number,
): Promise<readonly Recorded[]> {
  if (writes.length === 0) return []
  await lockConsents(trx, owner.organizationId, 'consent')
  const e164s = [...new Set(writes.map(({ e164 }) => e164))]
  const locked = await lockouts(trx, rootKey, owner, e164s, now)
  const current = new Map((await lockCurrent(trx, owner, e164s)).map((row) => [keyOf(row), row]))
  const stored = new Set([...current.values()].map(({ id }) => id))
  const superseded: string[] = []
  const made = new Map<string, ConsentRow>()
  const results = writes.map((write): Recorded => {
    const lockedUntil = locked.get(write.e164)
    if (lockedUntil !== undefined) {
      const message = 'The person opted out. Consent cannot be recorded again before lockedUntil.'
      return { code: 'conflict', message, path: null, lockedUntil }
    }
    const times = consentTimes(rules, write, now)
    if ('message' in times) return { code: 'validation_error', ...times, lockedUntil: null }
    const before = current.get(keyOf(write))
    if (write.kind === 'inferred' && before?.kind === 'explicit' && stands(before, now)) {
      const message = 'An active explicit consent stands. An inferred consent does not replace it.'
      return { code: 'conflict', message, path: null, lockedUntil: null }
    }
    const row = { ...newRow(owner, by, now), ...write, ...times }
    if (before !== undefined && stored.has(before.id)) superseded.push(before.id)
    if (before !== undefined && !stored.has(before.id)) supersede(made, before.id, now)
    current.set(keyOf(row), row)
    made.set(row.id, row)
    return row
  })
  await closeSuperseded(trx, superseded, now)
  const inserted = await insertAll(trx, [...made.values()])
  return results.map((result) => {
    if (isConsentRefusal(result)) return result
    if (inserted.has(result.id)) return made.get(result.id) ?? result
    const message = 'Another request recorded a consent for this number and purpose at the same time. Retry.'
    return { code: 'conflict', message, path: null, lockedUntil: null }
  })
}

/** Reads the current consents and locks them until the commit. */
function lockCurrent(trx: Trx, owner: Owner, e164s: readonly string[]): Promise<readonly Current[]> {
  return trx
    .updateTable('consents')
    .set({ current: 1 })
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('e164', 'in', e164s)
    .where('current', '=', 1)
    .returning(['id', 'e164', 'purpose', 'kind', 'expiresAt', 'revokedAt'])
    .execute()
}

const keyOf = ({ e164, purpose }: Pick<ConsentRow, 'e164' | 'purpose'>) => `${e164} ${purpose}`

const stands = (row: Current, now: number) => row.revokedAt === null && isActive(row, now)

function newRow(owner: Owner, by: Author, now: number) {
  return {
    id: newId('con', now),
    organizationId: owner.organizationId,
    environment: owner.environment,
    createdAt: now,
    createdByType: by.type,
    createdById: by.id,
    revokedAt: null,
    revokedReason: null,
    current: 1,
  }
}

function supersede(made: Map<string, ConsentRow>, id: string, now: number): void {
  const row = made.get(id)
  if (row !== undefined) made.set(id, { ...row, current: 0, revokedAt: now, revokedReason: 'superseded' })
}

async function closeSuperseded(trx: Trx, ids: readonly string[], now: number): Promise<void> {
  if (ids.length === 0) return
  await trx
    .updateTable('consents')
    .set({
      current: 0,
      revokedReason: sql<string>`case when "revokedAt" is null then 'superseded' else "revokedReason" end`,
      revokedAt: sql<number>`coalesce("revokedAt", cast(${now} as bigint))`,
    })
    .where('id', 'in', ids)
    .execute()
}

/** Inserts the rows. Returns the ids of those for which no other request was faster. */
async function insertAll(trx: Trx, rows: readonly ConsentRow[]): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (let start = 0; start < rows.length; start += BATCH) {
    const inserted = await trx
      .insertInto('consents')
      .values(rows.slice(start, start + BATCH))
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .execute()
    for (const { id } of inserted) ids.add(id)
  }
  return ids
}

/** Returns the newest consent of a number and purpose by id. Superseded consents are evidence only. */
export async function findConsent(db: Db | Trx, owner: Owner, id: string): Promise<ConsentRow | null> {
  const row = await db
    .selectFrom('consents')
    .selectAll()
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('current', '=', 1)
    .executeTakeFirst()
  return row ?? null
}

/** Revokes a consent. Returns null if it does not exist or was revoked before. */
export async function revokeConsent(
  trx: Trx,
  owner: Owner,
  id: string,
  reason: string,
  now: number,
): Promise<ConsentRow | null> {
  const row = await trx
    .updateTable('consents')
    .set({ revokedAt: now, revokedReason: reason })
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('current', '=', 1)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

export interface ConsentFilter {
  readonly e164: string | undefined
  readonly purpose: string | undefined
  readonly active: boolean | undefined
}

export function listConsents(
  db: Db,
  owner: Owner,
  filter: ConsentFilter,
  page: PageRequest,
  now: number,
): Promise<Page<ConsentRow>> {
  const active = sql<SqlBool>`("revokedAt" is null and ("expiresAt" is null or "expiresAt" > ${now}))`
  return newestFirst(
    ownCurrent(db, owner)
      .$if(filter.e164 !== undefined, (query) => query.where('e164', '=', filter.e164 ?? ''))
      .$if(filter.purpose !== undefined, (query) => query.where('purpose', '=', filter.purpose ?? ''))
      .$if(filter.active !== undefined, (query) =>
        query.where(filter.active === true ? active : sql<SqlBool>`not ${active}`),
      ),
    page,
    { few: filter.e164 !== undefined },
  )
}

function ownCurrent(db: Db | Trx, owner: Owner) {
  return db
    .selectFrom('consents')
    .selectAll()
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('current', '=', 1)
}

const DAY_MS = 86_400_000
const SWEEP_BATCH = 500

/** Deletes consents that ended as long ago as sealed records are kept. Returns true if there may be more. */
export function sweepConsents(db: Db, now: number): Promise<boolean> {
  const before = now - RECORD_DAYS.live * DAY_MS
  const where = sql<boolean>`coalesce("revokedAt", "expiresAt") < ${before}`
  return sweep(db, { table: 'consents', key: 'id', where, batch: SWEEP_BATCH })
}
