import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { oneLine } from '../base/schemas.js'
import { UploadRequest, uploadRequest } from '../uploads/api.js'
import { UPLOAD_PURPOSES } from '../uploads/purposes.js'
import {
  type DocumentLimit,
  deleteDocument,
  findDocument,
  insertDocument,
  listDocuments,
  MAX_BASE_BYTES,
  MAX_DOCUMENTS,
} from './document-store.js'
import { findBase, updateBase } from './store.js'
import { BasePath, DocumentPath, documentView, KnowledgeDocument, noBase, noDocument } from './view.js'

const { types, maxBytes } = UPLOAD_PURPOSES.knowledge

const LIMITS: Readonly<Record<DocumentLimit, string>> = {
  too_many: `A knowledge base has at most ${MAX_DOCUMENTS} documents. Delete one first.`,
  too_large: `The documents of a knowledge base have at most ${MAX_BASE_BYTES} bytes. Delete one first.`,
  too_many_uploads: 'Too many documents wait for their bytes. Send them or wait a day.',
}

export const listKnowledgeDocuments = listOperation({
  id: 'listKnowledgeDocuments',
  path: '/v1/knowledge-bases/:id/documents',
  tag: 'Knowledge',
  summary: 'List the documents of a knowledge base',
  description: 'Newest first.',
  audience: 'key',
  scope: 'read',
  params: BasePath,
  result: KnowledgeDocument,
  fails: ['not_found'],
  run: async ({ params, actor, deps, page }) => {
    const { organizationId } = actor
    if ((await findBase(deps.db, organizationId, params.id)) === null) return noBase()
    const { items, next } = await listDocuments(deps.db, organizationId, params.id, page)
    return { items: items.map(documentView), next }
  },
})

export const createKnowledgeUpload = operation({
  id: 'createKnowledgeUpload',
  method: 'post',
  path: '/v1/knowledge-bases/:id/documents/upload-url',
  tag: 'Knowledge',
  summary: 'Add a document and get an address to upload it to',
  description:
    'Send the file to the returned address, then build the knowledge base. The address takes one file. The same ' +
    'body returns a new address for a document that still awaits its bytes. A document without bytes is deleted ' +
    'after a day.',
  audience: 'key',
  scope: 'write',
  params: BasePath,
  body: z.strictObject({
    fileName: oneLine(255),
    contentType: z.enum(types),
    bytes: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  }),
  status: 201,
  result: z.object({ document: KnowledgeDocument, upload: UploadRequest }),
  fails: ['not_found', 'document_too_large', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { fileName: name, contentType, bytes } = body
    if (bytes > maxBytes) {
      return refuse('document_too_large', `A document has at most ${maxBytes} bytes.`, { bytes, maxBytes })
    }
    const { organizationId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      // The update also makes requests at the same time wait, so that they count each other's documents.
      if (!(await updateBase(trx, organizationId, params.id, {}, now))) return noBase()
      const file = { organizationId, knowledgeBaseId: params.id, name, contentType, bytes }
      const document = await insertDocument(trx, file, actor.kind === 'key' ? actor.keyId : actor.userId, now)
      if (typeof document === 'string') return refuse('conflict', LIMITS[document])
      await record('knowledge_document.created', document.id, { after: { name, contentType, bytes } })
      return {
        document: documentView(document),
        upload: uploadRequest(deps, {
          id: document.uploadId,
          contentType,
          organizationId: actor.organizationId,
        }),
      }
    })
  },
})

export const readKnowledgeDocument = operation({
  id: 'readKnowledgeDocument',
  method: 'get',
  path: '/v1/knowledge-bases/:id/documents/:documentId',
  tag: 'Knowledge',
  summary: 'Get a document of a knowledge base',
  description: 'A document with the status `error` says in a sentence why it cannot be read.',
  audience: 'key',
  scope: 'read',
  params: DocumentPath,
  status: 200,
  result: KnowledgeDocument,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findDocument(deps.db, actor.organizationId, params)
    return row === null ? noDocument() : documentView(row)
  },
})

export const deleteKnowledgeDocument = operation({
  id: 'deleteKnowledgeDocument',
  method: 'delete',
  path: '/v1/knowledge-bases/:id/documents/:documentId',
  tag: 'Knowledge',
  summary: 'Delete a document of a knowledge base',
  description: 'The agents know the document until the next build.',
  audience: 'key',
  scope: 'write',
  params: DocumentPath,
  status: 204,
  fails: ['not_found'],
  run: ({ params, actor, deps, requestId }): Promise<undefined | Refusal> =>
    audited({ actor, deps, requestId }, async (trx, record) => {
      if (!(await deleteDocument(trx, actor.organizationId, params))) return noDocument()
      await record('knowledge_document.deleted', params.documentId)
      return undefined
    }),
})
