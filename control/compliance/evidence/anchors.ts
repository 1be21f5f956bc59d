import type { Db, Trx } from '../../db/database.js'
import type { EvidenceAnchorRow } from '../../db/tables/calling.js'
import type { Owner } from './store.js'
import type { TimeStamp } from './time-stamp.js'

/* Heads of chains that were given away. */

/** Selects the anchors of one chain. */
export function anchorsOf(db: Db | Trx, { organizationId, environment }: Owner) {
  return db
    .selectFrom('evidenceAnchors')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
}

export async function findAnchor(db: Db, owner: Owner, id: string): Promise<EvidenceAnchorRow | null> {
  return (await anchorsOf(db, owner).where('id', '=', id).executeTakeFirst()) ?? null
}

/** Returns the first time-stamped head at or after a record: its time stamp covers the record. Null without one. */
export async function findCoveringAnchor(
  db: Db,
  owner: Owner,
  seq: number,
): Promise<EvidenceAnchorRow | null> {
  const row = await anchorsOf(db, owner)
    .where('seq', '>=', seq)
    .where('token', 'is not', null)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** Keeps the token of a head, unless the head has one. */
export async function keepToken(
  trx: Trx,
  id: string,
  { token, stamp: { at, authority } }: { readonly token: Buffer; readonly stamp: TimeStamp },
): Promise<void> {
  await trx
    .updateTable('evidenceAnchors')
    .set({ token: token.toString('base64'), stampedAt: at, authority })
    .where('id', '=', id)
    .where('token', 'is', null)
    .execute()
}
