import { type SqlBool, sql } from 'kysely'
import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { RootKey } from '../base/root-key.js'
import type { Policy } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import type { SuppressionRow } from '../db/tables/compliance.js'
import { istDate } from './calling-hours.js'
import { lockConsents } from './consent-lock.js'
import { ruleOn } from './dated-rule.js'
import { digestOf, namesOf, numbersByName } from './person-names.js'

const DAY_MS = 86_400_000

export interface Owner {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
}

/** Author of an entry or of its removal: a user, a key, or a call. */
export interface Author {
  readonly type: string
  readonly id: string
}

export interface NewSuppression {
  readonly e164: string
  readonly source: string
  readonly reason: string | null
  /** Call on which the person opted out. */
  readonly callId: string | null
}

/**
 * Puts a number on the do-not-call list and returns the entry. One of the same source stays as it is; an opt-out restarts
 * its 90 days, revokes the consents that it protects from, and cancels the callbacks of the person. With a root key the
 * entry of an erased person is found too, and stays without the number. Without one a second entry has it.
 */
export async function suppress(
  trx: Trx,
  { rules, rootKey }: { readonly rules: Policy; readonly rootKey: RootKey | null },
  owner: Owner,
  entry: NewSuppression,
  by: Author,
  now: number,
): Promise<{ readonly row: SuppressionRow; readonly created: boolean }> {
  const optOut = entry.source === 'opt_out'
  if (optOut) await lockConsents(trx, owner.organizationId, 'opt_out')
  const days = ruleOn(rules.suppression, istDate(now))?.days ?? 0
  const until = optOut ? now + days * DAY_MS : null
  const id = newId('dnc', now)
  const { organizationId, environment } = owner
  const erased = trx
    .selectFrom('suppressions')
    .select('e164')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('source', '=', entry.source)
    .where('e164', 'in', rootKey === null ? [''] : namesOf(rootKey, organizationId, entry.e164).slice(1))
    .where('removedAt', 'is', null)
    .limit(1)
  const row = await trx
    .insertInto('suppressions')
    .values({
      id,
      ...owner,
      ...entry,
      e164: sql<string>`coalesce(${erased}, ${entry.e164})`,
      ...{ lockedUntil: until, expiresAt: until, createdAt: now },
      ...{
        createdByType: by.type,
        createdById: by.id,
        removedAt: null,
        removedByType: null,
        removedById: null,
      },
    })
    .onConflict((conflict) =>
      conflict
        .columns(['organizationId', 'e164', 'environment', 'source'])
        .where('removedAt', 'is', null)
        // A repeated entry of another source changes nothing, but is returned.
        .doUpdateSet(
          optOut
            ? { lockedUntil: until, expiresAt: until, callId: entry.callId, reason: entry.reason }
            : (eb) => ({ source: eb.ref('excluded.source') }),
        ),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
  if (optOut) {
    await revokeAll(trx, owner, entry.e164, now)
    await cancelCallbacks(trx, owner, entry.e164)
  }
  return { row, created: row.id === id }
}

/** Cancels the callbacks that a person was promised, in the environments in which the opt-out counts. */
async function cancelCallbacks(trx: Trx, owner: Owner, e164: string): Promise<void> {
  await trx
    .updateTable('callbacks')
    .set({ status: 'canceled', reason: 'opt_out' })
    .where('organizationId', '=', owner.organizationId)
    .where('environment', 'in', owner.environment === 'live' ? ['live', 'test'] : ['test'])
    .where('e164', '=', e164)
    .where('status', 'in', ['scheduled', 'due'])
    .execute()
}

/** Revokes the active consents of a person. A live opt-out counts in both environments, one of a test in its own. */
async function revokeAll(
  trx: Trx,
  { organizationId, environment }: Owner,
  e164: string,
  now: number,
): Promise<void> {
  await trx
    .updateTable('consents')
    .set({ revokedAt: now, revokedReason: 'opt_out' })
    .where('organizationId', '=', organizationId)
    .where('environment', 'in', environment === 'live' ? ['live', 'test'] : ['test'])
    .where('e164', '=', e164)
    .where('current', '=', 1)
    .where('revokedAt', 'is', null)
    .execute()
}

/**
 * Returns until when consent of these numbers cannot be recorded again, for those that opted out (Unix ms). A live
 * opt-out locks both environments, one of a test its own.
 */
export async function lockouts(
  trx: Trx,
  rootKey: RootKey,
  { organizationId, environment }: Owner,
  e164s: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const numbers = numbersByName(rootKey, organizationId, e164s)
  const rows = await trx
    .selectFrom('suppressions')
    .select(['e164', 'lockedUntil'])
    .where('organizationId', '=', organizationId)
    .where('environment', 'in', environment === 'test' ? ['live', 'test'] : ['live'])
    .where('e164', 'in', [...numbers.keys()])
    .where('removedAt', 'is', null)
    .where('lockedUntil', '>', now)
    .execute()
  const locked = new Map<string, number>()
  for (const { e164: name, lockedUntil } of rows) {
    const e164 = numbers.get(name) ?? name
    locked.set(e164, Math.max(lockedUntil ?? 0, locked.get(e164) ?? 0))
  }
  return locked
}

/**
 * Replaces the number of a person by its digest in all entries, and removes the reasons and the calls; `marker` stands for
 * calls that have made entries. A later entry takes the place of one of an earlier erasure and protects as long as both.
 */
export async function eraseSuppressions(
  trx: Trx,
  rootKey: RootKey,
  { organizationId, environment }: Owner,
  e164: string,
  marker: string,
  now: number,
): Promise<void> {
  const names = namesOf(rootKey, organizationId, e164)
  const active = await trx
    .selectFrom('suppressions')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', names)
    .where('removedAt', 'is', null)
    .orderBy('id', 'desc')
    .execute()
  for (const source of new Set(active.map((row) => row.source))) {
    const all = active.filter((row) => row.source === source)
    const [latest, ...others] = all
    if (latest === undefined || others.length === 0) continue
    await trx
      .updateTable('suppressions')
      .set({ removedAt: now })
      .where(
        'id',
        'in',
        others.map(({ id }) => id),
      )
      .execute()
    // An entry without an end lasts longest, and one without a lock locks least.
    const lockedUntil = Math.max(...all.map((row) => row.lockedUntil ?? 0))
    const expiresAt = Math.max(...all.map((row) => row.expiresAt ?? Number.POSITIVE_INFINITY))
    await trx
      .updateTable('suppressions')
      .set({
        lockedUntil: lockedUntil === 0 ? null : lockedUntil,
        expiresAt: Number.isFinite(expiresAt) ? expiresAt : null,
      })
      .where('id', '=', latest.id)
      .execute()
  }
  await trx
    .updateTable('suppressions')
    .set({ e164: digestOf(rootKey, organizationId, e164), reason: null, callId: null })
    // The author of an opt-out on a call is the call.
    .set((eb) => ({
      createdById: eb
        .case()
        .when('createdByType', '=', 'call')
        .then(marker)
        .else(eb.ref('createdById'))
        .end(),
    }))
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', names)
    .execute()
}

export async function findSuppression(
  db: Db | Trx,
  owner: Owner,
  id: string,
): Promise<SuppressionRow | null> {
  const row = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .executeTakeFirst()
  return row ?? null
}

/** Removes an entry. Returns false if it is locked or was removed before. A test entry is never locked. */
export async function removeSuppression(
  trx: Trx,
  owner: Owner,
  id: string,
  by: Author,
  now: number,
): Promise<boolean> {
  const removed = await trx
    .updateTable('suppressions')
    .set({ removedAt: now, removedByType: by.type, removedById: by.id })
    .where('id', '=', id)
    .where(unindexed('organizationId'), '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('removedAt', 'is', null)
    .where((eb) =>
      eb.or([eb('environment', '=', 'test'), eb('lockedUntil', 'is', null), eb('lockedUntil', '<=', now)]),
    )
    .returning('id')
    .executeTakeFirst()
  return removed !== undefined
}

export interface SuppressionFilter {
  /** Texts by which an entry may name the number. */
  readonly names: readonly string[] | undefined
  readonly source: string | undefined
  readonly active: boolean | undefined
}

export function listSuppressions(
  db: Db,
  owner: Owner,
  filter: SuppressionFilter,
  page: PageRequest,
  now: number,
): Promise<Page<SuppressionRow>> {
  const active = sql<SqlBool>`("removedAt" is null and ("expiresAt" is null or "expiresAt" > ${now}))`
  return newestFirst(
    db
      .selectFrom('suppressions')
      .selectAll()
      .where('organizationId', '=', owner.organizationId)
      .where('environment', '=', owner.environment)
      .$if(filter.names !== undefined, (query) => query.where('e164', 'in', filter.names ?? []))
      .$if(filter.source !== undefined, (query) => query.where('source', '=', filter.source ?? ''))
      .$if(filter.active !== undefined, (query) =>
        query.where(filter.active === true ? active : sql<SqlBool>`not ${active}`),
      ),
    page,
    { few: filter.names !== undefined },
  )
}
