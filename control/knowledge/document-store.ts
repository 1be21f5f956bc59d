import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { KnowledgeDocumentRow } from '../db/tables/knowledge.js'
import { discardUploads, insertUpload } from '../uploads/store.js'
import type { DocumentWithUpload } from './store.js'

export const MAX_DOCUMENTS = 100
export const MAX_BASE_BYTES = 200 * 1024 * 1024

export type NewDocument = Pick<
  KnowledgeDocumentRow,
  'organizationId' | 'knowledgeBaseId' | 'name' | 'contentType' | 'bytes'
>

/** Why a document cannot be added. */
export type DocumentLimit = 'too_many' | 'too_large' | 'too_many_uploads'

/**
 * Adds a document that awaits its bytes. A document of the same name, type and size that still awaits them is
 * returned instead, so that an upload can be started again at a new address.
 */
export async function insertDocument(
  trx: Trx,
  document: NewDocument,
  createdBy: string,
  now: number,
): Promise<DocumentWithUpload | DocumentLimit> {
  const { organizationId, knowledgeBaseId, name, contentType, bytes } = document
  const present = await documents(trx, organizationId, knowledgeBaseId).execute()
  const again = present.find(
    (row) =>
      row.uploadState === 'awaiting' &&
      row.name === name &&
      row.contentType === contentType &&
      row.bytes === bytes,
  )
  if (again !== undefined) return again
  if (present.length >= MAX_DOCUMENTS) return 'too_many'
  if (present.reduce((sum, row) => sum + row.bytes, bytes) > MAX_BASE_BYTES) return 'too_large'
  const upload = { organizationId, fileName: name, contentType, bytes, createdBy }
  const uploadId = await insertUpload(trx, { ...upload, purpose: 'knowledge' }, now)
  if (uploadId === null) return 'too_many_uploads'
  const row = await trx
    .insertInto('knowledgeDocuments')
    .values({
      ...document,
      id: newId('doc', now),
      uploadId,
      status: 'new',
      error: null,
      chunkCount: null,
      textKey: null,
      createdAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { ...row, uploadState: 'awaiting' }
}

export async function findDocument(
  db: Db | Trx,
  organizationId: string,
  path: { readonly id: string; readonly documentId: string },
): Promise<DocumentWithUpload | null> {
  const row = await documents(db, organizationId, path.id)
    .where('document.id', '=', path.documentId)
    .executeTakeFirst()
  return row ?? null
}

/** Lists the documents of a base, newest first. */
export function listDocuments(
  db: Db,
  organizationId: string,
  knowledgeBaseId: string,
  page: PageRequest,
): Promise<Page<DocumentWithUpload>> {
  return newestFirst(documents(db, organizationId, knowledgeBaseId), page, { alias: 'document' })
}

/** Returns the documents whose bytes have arrived, oldest first. */
export function uploadedDocuments(
  db: Db | Trx,
  organizationId: string,
  knowledgeBaseId: string,
): Promise<readonly (DocumentWithUpload & { readonly key: string | null })[]> {
  return documents(db, organizationId, knowledgeBaseId)
    .select('uploads.key')
    .where('uploads.state', '=', 'used')
    .orderBy('document.createdAt')
    .orderBy('document.id')
    .execute()
}

/** Deletes a document and gives its bytes to the sweep. Returns false when there is none. */
export async function deleteDocument(
  trx: Trx,
  organizationId: string,
  path: { readonly id: string; readonly documentId: string },
): Promise<boolean> {
  const row = await trx
    .deleteFrom('knowledgeDocuments')
    .where('organizationId', '=', organizationId)
    .where('knowledgeBaseId', '=', path.id)
    .where('id', '=', path.documentId)
    .returning('uploadId')
    .executeTakeFirst()
  if (row === undefined) return false
  await discardUploads(trx, [row.uploadId])
  return true
}

/** Sets what a build found out about a document. */
export async function updateDocument(
  trx: Trx,
  { organizationId, id }: Pick<KnowledgeDocumentRow, 'organizationId' | 'id'>,
  change: Partial<Pick<KnowledgeDocumentRow, 'status' | 'error' | 'chunkCount' | 'textKey' | 'bytes'>>,
): Promise<void> {
  await trx
    .updateTable('knowledgeDocuments')
    .set(change)
    .where('organizationId', '=', organizationId)
    .where('id', '=', id)
    .execute()
}

/** A document whose upload was swept has no row of an upload. Such documents are not shown. */
function documents(db: Db | Trx, organizationId: string, knowledgeBaseId: string) {
  return db
    .selectFrom('knowledgeDocuments as document')
    .innerJoin('uploads', 'uploads.id', 'document.uploadId')
    .where('document.organizationId', '=', organizationId)
    .where('document.knowledgeBaseId', '=', knowledgeBaseId)
    .where('uploads.state', '!=', 'expired')
    .selectAll('document')
    .select('uploads.state as uploadState')
}
