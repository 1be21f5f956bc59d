import { sql } from 'kysely'
import { newId } from '../../../media/base/ids.js'
import type { Db } from '../../db/database.js'
import type { RegisterScrubNumberRow, RegisterScrubRow } from '../../db/tables/compliance.js'
import { RECORD_DAYS } from '../retention.js'

/** Name of the register that answers from scrub files. */
export const SCRUB_REGISTER = 'scrub_file'

const DAY_MS = 86_400_000
const SWEEP_BATCH = 5_000

export type ScrubNumber = Omit<RegisterScrubNumberRow, 'scrubId'>
/** A scrub whose file is stored to its end. */
export type ImportedScrub = RegisterScrubRow & {
  readonly importedAt: number
  readonly rows: number
  readonly sha256: string
}

export async function startScrub(
  db: Db,
  scrub: Pick<RegisterScrubRow, 'scrubbedAt' | 'validUntil' | 'createdBy'>,
  now: number,
): Promise<RegisterScrubRow> {
  const row = {
    ...{ id: newId('scr', now), ...scrub, createdAt: now },
    ...{ importedAt: null, rows: null, sha256: null },
  }
  await db.insertInto('registerScrubs').values(row).execute()
  return row
}

/** Stores numbers of a scrub, each at most once per call. A number that is listed once stays listed. */
export async function insertScrubNumbers(
  db: Db,
  scrubId: string,
  numbers: readonly ScrubNumber[],
): Promise<void> {
  await db
    .insertInto('registerScrubNumbers')
    .values(numbers.map((number) => ({ ...number, scrubId })))
    .onConflict((conflict) =>
      conflict
        .columns(['e164', 'scrubId'])
        .doUpdateSet((eb) => ({ state: eb.ref('excluded.state'), category: eb.ref('excluded.category') }))
        .where(sql<boolean>`excluded.state = 'listed'`),
    )
    .execute()
}

/**
 * Makes the numbers of a scrub count, all at once. Answers that came from scrubs end, and so do those of a service to numbers
 * of this scrub if they are older than it, so that the next call asks the scrubs.
 */
export async function completeScrub(
  db: Db,
  scrub: RegisterScrubRow,
  file: { readonly rows: number; readonly sha256: string },
  now: number,
): Promise<ImportedScrub> {
  const imported = { ...file, importedAt: now }
  await db.transaction().execute(async (trx) => {
    await trx
      .updateTable('registerScrubs')
      .set(imported)
      .where('id', '=', scrub.id)
      .where('importedAt', 'is', null)
      .returning('id')
      .executeTakeFirstOrThrow()
    // Their rows stay: they tell which numbers were paid for today.
    await trx
      .updateTable('registerAnswers')
      .set({ validUntil: now })
      .where('environment', '=', 'live')
      .where('validUntil', '>', now)
      .where((eb) =>
        eb.or([
          eb('register', '=', SCRUB_REGISTER),
          eb.and([
            eb('checkedAt', '<', scrub.scrubbedAt),
            eb.exists(
              eb
                .selectFrom('registerScrubNumbers')
                .select('registerScrubNumbers.e164')
                .where('registerScrubNumbers.scrubId', '=', scrub.id)
                .whereRef('registerScrubNumbers.e164', '=', 'registerAnswers.e164'),
            ),
          ]),
        ]),
      )
      .execute()
  })
  return { ...scrub, ...imported }
}

/** Removes a scrub that was not imported to its end. */
export async function discardScrub(db: Db, id: string): Promise<void> {
  while (await deleteNumbers(db, id)) {
    // Each round removes one batch. Other writers can write between batches.
  }
  await db.deleteFrom('registerScrubs').where('id', '=', id).where('importedAt', 'is', null).execute()
}

/** Finds what the latest valid scrub with each number says about it. Numbers of no scrub have no row. */
export async function findScrubbed(db: Db, e164s: readonly string[], now: number) {
  const rows = await db
    .selectFrom('registerScrubNumbers as number')
    .innerJoin('registerScrubs as scrub', 'scrub.id', 'number.scrubId')
    .select(['number.e164', 'number.state', 'number.category'])
    .select(['scrub.sha256', 'scrub.scrubbedAt', 'scrub.validUntil'])
    .where('number.e164', 'in', e164s)
    .where('scrub.importedAt', 'is not', null)
    .where('scrub.validUntil', '>', now)
    .orderBy('scrub.scrubbedAt', 'desc')
    .orderBy('scrub.id', 'desc')
    .execute()
  const latest = new Map<string, (typeof rows)[number]>()
  for (const row of rows) if (!latest.has(row.e164)) latest.set(row.e164, row)
  return [...latest.values()]
}

/**
 * Deletes a batch of numbers of scrubs that count no longer or whose import was cut off a day ago. The scrub itself,
 * which sealed records name by its hash, stays as long as they do. Returns true if there may be more.
 */
export async function sweepScrubs(db: Db, now: number): Promise<boolean> {
  const ended = await db
    .selectFrom('registerScrubs')
    .select(['id', 'importedAt'])
    .where((eb) =>
      eb.or([
        eb('validUntil', '<=', now),
        eb.and([eb('importedAt', 'is', null), eb('createdAt', '<', now - DAY_MS)]),
      ]),
    )
    .where((eb) =>
      eb.or([
        eb('importedAt', 'is', null),
        eb('createdAt', '<', now - RECORD_DAYS.live * DAY_MS),
        eb.exists(
          eb
            .selectFrom('registerScrubNumbers')
            .select('e164')
            .whereRef('registerScrubNumbers.scrubId', '=', 'registerScrubs.id'),
        ),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  if (ended === undefined) return false
  if (await deleteNumbers(db, ended.id)) return true
  await db
    .deleteFrom('registerScrubs')
    .where('id', '=', ended.id)
    .where((eb) =>
      eb.or([eb('importedAt', 'is', null), eb('createdAt', '<', now - RECORD_DAYS.live * DAY_MS)]),
    )
    .execute()
  return true
}

/** Deletes a batch of numbers. Returns true if there may be more. */
async function deleteNumbers(db: Db, scrubId: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table('registerScrubNumbers')}
    where ${sql.ref('scrubId')} = ${scrubId} and ${sql.ref('e164')} in (
      select ${sql.ref('e164')} from ${sql.table('registerScrubNumbers')}
      where ${sql.ref('scrubId')} = ${scrubId} limit ${sql.lit(SWEEP_BATCH)})`.execute(db)
  return numAffectedRows >= BigInt(SWEEP_BATCH)
}
