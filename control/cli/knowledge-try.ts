import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { PassageIndex } from '../../media/knowledge/passage-index.js'
import { modelText, type Passage } from '../../media/knowledge/passages.js'
import type { PassageVectors } from '../../media/knowledge/vectors.js'
import { type Embedder, MAX_TEXTS } from '../../media/vendors/openai/embeddings.js'
import { DocumentJobs } from '../../workers/jobs/document-jobs.js'
import { UsageError } from './options.js'

/** Content types of documents by the end of a file name. */
const TYPES: Readonly<Record<string, string>> = {
  '.pdf': 'application/pdf',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.txt': 'text/plain',
}
const PASSAGES = 5
/** The one owner of documents of this process. */
const OWNER = 'cli'
/** Characters of a passage that are printed. */
const SHOWN = 300

/**
 * Reads one document as a build does and returns the passages that an agent would get for the question, as text to
 * print; with `embedder`, by meaning too. Throws UsageError for a file that cannot be read, and EngineError when the
 * embeddings fail.
 */
export async function tryKnowledge(
  [path, question, ...rest]: readonly string[],
  embedder: Embedder | null = null,
): Promise<string> {
  if (path === undefined || question === undefined || rest.length > 0) {
    throw new UsageError('parley knowledge try FILE "QUESTION" takes a file and a question')
  }
  const contentType = TYPES[extname(path).toLowerCase()]
  if (contentType === undefined) {
    throw new UsageError(`FILE must end in one of: ${Object.keys(TYPES).join(', ')}`)
  }
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new UsageError(errorText(error))
  })
  const jobs = new DocumentJobs({ clock: systemClock })
  try {
    const read = await jobs.read(OWNER, contentType, bytes)
    if (read.kind === 'refused') throw new UsageError(read.reason)
    const name = basename(path)
    const extras = embedder === null ? {} : { vectors: await vectorsOf(embedder, name, read.passages) }
    const index = await jobs.index(OWNER, [{ id: 'doc', name, passages: read.passages }], extras)
    if (index.kind === 'refused') throw new UsageError(index.reason)
    const vector = embedder === null ? null : await embedded(embedder, 'question', [question])
    const asked = { text: question, vector: vector?.[0] ?? null }
    const found = new PassageIndex(Buffer.from(index.bytes)).search(asked, PASSAGES)
    const lines = found.map(({ score, page, heading, text, matched }) => {
      const place = [page === null ? '' : `page ${page}`, heading].filter((part) => part !== '').join(', ')
      return `${score.toFixed(2)}  ${place} (${matched.join(', ')})\n      ${text.slice(0, SHOWN).replaceAll('\n', '\n      ')}\n`
    })
    return [`${read.passages.length} passages, ${found.length} found`, ...lines].join('\n')
  } finally {
    await jobs.close()
  }
}

async function vectorsOf(
  embedder: Embedder,
  name: string,
  passages: readonly Passage[],
): Promise<PassageVectors> {
  const vectors: Int8Array[] = []
  for (let at = 0; at < passages.length; at += MAX_TEXTS) {
    const texts = passages.slice(at, at + MAX_TEXTS).map((passage) => modelText(name, passage))
    vectors.push(...(await embedded(embedder, 'passage', texts)))
  }
  const dimensions = vectors[0]?.length ?? 0
  return { model: embedder.id, dimensions, bytes: Int8Array.from(vectors.flatMap((vector) => [...vector])) }
}

async function embedded(embedder: Embedder, kind: 'question' | 'passage', texts: readonly string[]) {
  return (await embedder.embed(kind, texts, new AbortController().signal)).vectors
}
