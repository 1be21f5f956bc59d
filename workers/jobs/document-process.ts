/*
 * The process that reads documents (a child of `document-jobs.ts`). A hostile document can make a parser use all of
 * its memory or never return; a process of its own can then be ended. It has no settings and no secrets.
 */
import { errorText } from '../../media/base/errors.js'
import { buildIndex, type IndexedDocument, type PassageExtras } from '../../media/knowledge/passage-index.js'
import { type Passage, passagesOf } from '../../media/knowledge/passages.js'
import { lowerProcessPriority } from '../thread/thread-priority.js'
import { extract } from './extract/extract.js'
import { RefusedDocument } from './extract/refused-document.js'

export type DocumentTask =
  | { readonly kind: 'read'; readonly contentType: string; readonly bytes: Uint8Array }
  | {
      readonly kind: 'index'
      readonly documents: readonly IndexedDocument[]
      readonly extras: PassageExtras
    }

export type DocumentReply =
  | {
      readonly kind: 'passages'
      readonly passages: readonly Passage[]
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'index'; readonly bytes: Uint8Array }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }

/** Below the media threads, which must not wait. */
const NICE = 10

async function answer(task: DocumentTask): Promise<DocumentReply> {
  try {
    if (task.kind === 'index') return { kind: 'index', bytes: buildIndex(task.documents, task.extras) }
    const { blocks, warnings } = await extract(task.contentType, task.bytes)
    return { kind: 'passages', passages: passagesOf(blocks), warnings }
  } catch (error) {
    if (error instanceof RefusedDocument) return { kind: 'refused', reason: error.message }
    return { kind: 'failed', message: errorText(error) }
  }
}

lowerProcessPriority(NICE)
process.on('message', (task: DocumentTask) => {
  void answer(task).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => process.exit())
