import { buffer } from 'node:stream/consumers'
import type { ObjectStore } from '../objects/object-store.js'

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

/** Reads a whole object. Returns null when there is none. */
export async function readObject(objects: ObjectStore, key: string): Promise<Buffer | null> {
  const stream = await objects.get(key)
  return stream === null ? null : buffer(stream)
}

/** Writes a whole object. */
export async function writeObject(objects: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  await objects.put(key, once(bytes), { maxBytes: bytes.length })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
