import { randomBytes } from 'node:crypto'
import { newId } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { UploadRow } from '../db/tables/organization.js'
import type { ObjectDigest, ObjectStore } from '../objects/object-store.js'
import { UPLOAD_PURPOSES } from './purposes.js'

/** Time after which an unused upload is deleted (ms). */
export const UNUSED_KEPT_MS = 24 * 3_600_000
/** Uploads that one step of the sweep deletes. */
const SWEEP_UPLOADS = 100

type NewUpload = Pick<
  UploadRow,
  'organizationId' | 'purpose' | 'fileName' | 'contentType' | 'bytes' | 'createdBy'
>

/** Adds an upload that awaits its bytes. Returns null when the organization has too many unused ones. */
export async function insertUpload(trx: Trx, upload: NewUpload, now: number): Promise<string | null> {
  const { unused } = await trx
    .selectFrom('uploads')
    .select((column) => column.fn.countAll<number>().as('unused'))
    .where('organizationId', '=', upload.organizationId)
    .where('purpose', '=', upload.purpose)
    .where('state', 'in', ['awaiting', 'stored'])
    .executeTakeFirstOrThrow()
  if (Number(unused) >= UPLOAD_PURPOSES[upload.purpose].maxUnused) return null
  const id = newId('upl', now)
  await trx
    .insertInto('uploads')
    .values({ ...upload, id, state: 'awaiting', key: null, sha256: null, createdAt: now })
    .execute()
  return id
}

/** Returns an upload. Its signed address is the proof that the client may know it. */
export async function findUpload(db: Db, id: string): Promise<UploadRow | null> {
  return (await db.selectFrom('uploads').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** Records the bytes of an upload. Returns false when it has some already or was deleted. */
async function completeUpload(
  db: Db | Trx,
  { id, purpose }: Pick<UploadRow, 'id' | 'purpose'>,
  stored: ObjectDigest & { readonly key: string },
): Promise<boolean> {
  const row = await db
    .updateTable('uploads')
    .set({ state: UPLOAD_PURPOSES[purpose].complete, ...stored })
    .where('id', '=', id)
    .where('state', '=', 'awaiting')
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Stores the bytes of an upload. Requests at the same time write objects of their own: one of them becomes the upload,
 * the others get `again`. `keep` is called last in the transaction. Rejects like `ObjectStore.put`.
 */
export async function receiveFile(
  { db, objects }: { readonly db: Db; readonly objects: ObjectStore },
  upload: UploadRow,
  content: AsyncIterable<Uint8Array>,
  keep: (trx: Trx) => Promise<unknown>,
): Promise<'received' | 'too_large' | 'again'> {
  const key = `${uploadKeys(upload.id)}${randomBytes(12).toString('hex')}`
  const stored = await objects.put(key, content, { maxBytes: upload.bytes })
  if (stored.kind !== 'stored') return 'too_large'
  const { bytes, sha256 } = stored
  const received = await db.transaction().execute(async (trx) => {
    const done = await completeUpload(trx, upload, { key, bytes, sha256 })
    if (done) await keep(trx)
    return done
  })
  if (received) return 'received'
  await objects.delete(key)
  return 'again'
}

/** Thrown by `useUploads`, so that the transaction is rolled back. */
export class MissingUpload extends Error {
  constructor(readonly id: string) {
    super('an upload does not exist or has no file')
  }
}

/**
 * Keeps uploads of an organization, for example as documents of a submission. Throws `MissingUpload` for one that
 * does not exist, belongs to another organization or has no file.
 */
export async function useUploads(
  trx: Trx,
  owner: Pick<UploadRow, 'organizationId' | 'purpose'>,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const rows = await trx
    .updateTable('uploads')
    .set({ state: 'used' })
    .where('id', 'in', ids)
    .where('organizationId', '=', owner.organizationId)
    .where('purpose', '=', owner.purpose)
    .where('state', 'in', ['stored', 'used'])
    .returning('id')
    .execute()
  const used = new Set(rows.map(({ id }) => id))
  const missing = ids.find((id) => !used.has(id))
  if (missing !== undefined) throw new MissingUpload(missing)
}

/** Gives uploads up. The sweep deletes them with their objects. */
export async function discardUploads(trx: Trx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await trx.updateTable('uploads').set({ state: 'expired' }).where('id', 'in', ids).execute()
}

const UPLOAD_KEYS = 'documents/'

/** Prefix of the keys of everything that was sent to the address of an upload. */
function uploadKeys(id: string): string {
  return `${UPLOAD_KEYS}${id}/`
}

/**
 * Deletes objects that no upload names: a process that died after it had stored the bytes left them. Returns true if
 * there may be more.
 */
export async function sweepStrayFiles(db: Db, objects: ObjectStore, now: number): Promise<boolean> {
  let deleted = 0
  for await (const { key, modifiedAt } of objects.list(UPLOAD_KEYS)) {
    // A newer object may not be referenced yet.
    if (modifiedAt > now - UNUSED_KEPT_MS) continue
    const named = await db
      .selectFrom('uploads')
      .select('id')
      .where('id', '=', key.split('/')[1] ?? '')
      .where('key', '=', key)
      .executeTakeFirst()
    if (named !== undefined) continue
    await objects.delete(key)
    if (++deleted === SWEEP_UPLOADS) return true
  }
  return false
}

/**
 * Deletes unused uploads after a day, their objects first. Returns true if there may be more. After a crash the
 * next sweep continues.
 */
export async function sweepUploads(db: Db, objects: ObjectStore, now: number): Promise<boolean> {
  await db
    .updateTable('uploads')
    .set({ state: 'expired' })
    .where('state', 'in', ['awaiting', 'stored'])
    .where('createdAt', '<=', now - UNUSED_KEPT_MS)
    .execute()
  const rows = await db
    .selectFrom('uploads')
    .select('id')
    .where('state', '=', 'expired')
    .limit(SWEEP_UPLOADS)
    .execute()
  for (const { id } of rows) {
    for await (const { key } of objects.list(uploadKeys(id))) await objects.delete(key)
    await db.deleteFrom('uploads').where('id', '=', id).where('state', '=', 'expired').execute()
  }
  return rows.length === SWEEP_UPLOADS
}
