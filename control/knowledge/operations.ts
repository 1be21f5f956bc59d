import { createKnowledgeBase, deleteKnowledgeBase, listKnowledgeBases, readKnowledgeBase } from './api.js'
import { buildKnowledgeBase, listKnowledgeBuilds, readKnowledgeBuild } from './build-api.js'
import {
  createKnowledgeUpload,
  deleteKnowledgeDocument,
  listKnowledgeDocuments,
  readKnowledgeDocument,
} from './document-api.js'
import { searchKnowledgeBase } from './search-api.js'

/** The operations of knowledge bases, except those that change agents (`agents/knowledge-api.ts`). */
export const knowledgeOperations = [
  listKnowledgeBases,
  createKnowledgeBase,
  readKnowledgeBase,
  deleteKnowledgeBase,
  listKnowledgeDocuments,
  createKnowledgeUpload,
  readKnowledgeDocument,
  deleteKnowledgeDocument,
  buildKnowledgeBase,
  listKnowledgeBuilds,
  readKnowledgeBuild,
  searchKnowledgeBase,
]
