/** Prefix of the objects of all knowledge bases: texts of documents and indexes of builds. */
export const KNOWLEDGE_KEYS = 'knowledge/'
/** Number of the form in which passages are stored. A new one makes builds read all documents again. */
const PASSAGES_VERSION = 1

export function passagesKey(knowledgeBaseId: string, documentId: string): string {
  return `${KNOWLEDGE_KEYS}${knowledgeBaseId}/${documentId}.v${PASSAGES_VERSION}.json`
}

export function indexKey(knowledgeBaseId: string, buildId: string): string {
  return `${KNOWLEDGE_KEYS}${knowledgeBaseId}/${buildId}.index`
}
