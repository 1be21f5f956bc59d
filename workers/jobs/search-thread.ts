/*
 * The thread that searches knowledge bases (a worker of `search-jobs.ts`). It keeps the indexes that were used last.
 */
import { parentPort } from 'node:worker_threads'
import { errorText } from '../../media/base/errors.js'
import { type FoundPassage, PassageIndex, type Question } from '../../media/knowledge/passage-index.js'

export type SearchTask =
  | { readonly kind: 'load'; readonly key: string; readonly content: Uint8Array }
  | {
      readonly kind: 'search'
      readonly key: string
      readonly question: Question
      readonly limit: number
    }

export type SearchReply =
  | { readonly kind: 'loaded' }
  | {
      readonly kind: 'found'
      readonly passages: readonly FoundPassage[]
      readonly vectorModel: string | null
    }
  /** The index is not loaded. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly message: string }

/** Stored bytes of all loaded indexes. In memory they take about three times as much. */
const MAX_BYTES = 128 * 1024 * 1024

/** Loaded indexes, the one that was used last at the end. */
const indexes = new Map<string, PassageIndex>()

function answer(task: SearchTask): SearchReply {
  try {
    if (task.kind === 'load') {
      const { buffer, byteOffset, byteLength } = task.content
      indexes.set(task.key, new PassageIndex(Buffer.from(buffer, byteOffset, byteLength)))
      evict()
      return { kind: 'loaded' }
    }
    const index = indexes.get(task.key)
    if (index === undefined) return { kind: 'missing' }
    indexes.delete(task.key)
    indexes.set(task.key, index)
    const passages = index.search(task.question, task.limit)
    return { kind: 'found', passages, vectorModel: index.vectorModel }
  } catch (error) {
    return { kind: 'failed', message: errorText(error) }
  }
}

/** Removes the indexes that were not used for longest. The newest stays, whatever its size. */
function evict(): void {
  let bytes = [...indexes.values()].reduce((sum, index) => sum + index.bytes, 0)
  for (const [key, index] of indexes) {
    if (bytes <= MAX_BYTES || indexes.size === 1) return
    indexes.delete(key)
    bytes -= index.bytes
  }
}

parentPort?.on('message', (task: SearchTask) => parentPort?.postMessage(answer(task)))
