import type { z } from 'zod'
import { timestamp } from '../../base/schemas.js'
import type { Db } from '../../db/database.js'
import { unindexedNumber } from '../../db/owned-rows.js'
import type { EvidenceRow } from '../../db/tables/calling.js'
import type { ConsentRow, SuppressionRow } from '../../db/tables/compliance.js'
import { GENESIS_HASH } from './hashes.js'
import type { EvidenceKeys } from './seal.js'
import { findPublicKey, type Owner, readHead, recordsOf } from './store.js'
import { ChainVerifier } from './verify.js'
import type { EvidenceHead } from './view.js'

/** The records of a call. An inbound call has no gate record. */
export interface CallEvidence {
  readonly gate: EvidenceRow | null
  readonly outcome: EvidenceRow | null
}

/** Returns the records of a call, or null if it has none. */
export async function findCallEvidence(db: Db, owner: Owner, callId: string): Promise<CallEvidence | null> {
  const rows = await recordsOf(db, owner).where('callId', '=', callId).orderBy('seq').execute()
  const gate = rows.find(({ kind }) => kind === 'gate') ?? null
  const outcome = rows.find(({ kind }) => kind === 'outcome') ?? null
  return gate === null && outcome === null ? null : { gate, outcome }
}

/** Returns the newest records about a number. */
export function listPersonEvidence(
  db: Db,
  owner: Owner,
  e164: string,
  limit: number,
): Promise<readonly EvidenceRow[]> {
  return recordsOf(db, owner).where('e164', '=', e164).orderBy('seq', 'desc').limit(limit).execute()
}

/** Returns the consents of a number, also those that were superseded or revoked, the newest first. */
export function listPersonConsents(
  db: Db,
  { organizationId, environment }: Owner,
  e164: string,
  limit: number,
): Promise<readonly ConsentRow[]> {
  return db
    .selectFrom('consents')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .orderBy(unindexedNumber('createdAt'), 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Returns the do-not-call entries with one of these names of a number, also those that were removed, the newest first. */
export function listPersonSuppressions(
  db: Db,
  { organizationId, environment }: Owner,
  names: readonly string[],
  limit: number,
): Promise<readonly SuppressionRow[]> {
  return db
    .selectFrom('suppressions')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', names)
    .orderBy(unindexedNumber('createdAt'), 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Returns the last record of the chain with the key that signed it. */
export async function headView(
  db: Db,
  owner: Owner,
  keys: EvidenceKeys,
): Promise<z.input<typeof EvidenceHead>> {
  const { seq, hash } = await readHead(db, owner)
  const last = await recordsOf(db, owner).where('seq', '=', seq).executeTakeFirst()
  const keyId = last?.keyId ?? keys.current.keyId
  const publicKey = await publicKeyOf(db, keys, keyId)
  return { seq, hash, sealedAt: last === undefined ? null : timestamp(last.sealedAt), keyId, publicKey }
}

/**
 * Verifies single records: the text, the link to the record before, the signature and the personal data. Only a
 * bundle proves the whole chain. Returns the first problem, or null.
 */
export async function problemOfRecords(
  db: Db,
  owner: Owner,
  keys: EvidenceKeys,
  rows: readonly EvidenceRow[],
): Promise<string | null> {
  for (const row of rows) {
    const before = await recordsOf(db, owner)
      .where('seq', '=', row.seq - 1)
      .executeTakeFirst()
    // The record before may have been removed after its retention.
    const hash = before?.hash ?? (row.seq === 1 ? GENESIS_HASH : row.prevHash)
    const publicKey = await publicKeyOf(db, keys, row.keyId)
    const [problem] = new ChainVerifier(owner, { seq: row.seq - 1, hash, publicKey }).take(row).problems
    if (problem !== undefined) return problem.message
  }
  return null
}

async function publicKeyOf(db: Db, { current, earlier }: EvidenceKeys, keyId: string): Promise<string> {
  const own = [current, ...earlier].find((key) => key.keyId === keyId)
  return own?.publicKey ?? (await findPublicKey(db, keyId)) ?? current.publicKey
}
