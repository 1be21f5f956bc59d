import { estimateTokens } from '../../media/agent/llm/context-window.js'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { IndexedDocument } from '../../media/knowledge/passage-index.js'
import type { Passage } from '../../media/knowledge/passages.js'
import type { DocumentReader } from '../../workers/jobs/document-jobs.js'
import type { Db, Trx } from '../db/database.js'
import type { KnowledgeBuildRow } from '../db/tables/knowledge.js'
import type { ClaimedJob, JobHandler } from '../jobs/runner.js'
import type { ObjectStore } from '../objects/object-store.js'
import { readObject, writeObject } from '../objects/whole-object.js'
import { type BuildModels, makeExtras } from './build-extras.js'
import { BUILD_JOB, type BuildResult, findOpenBuild, finishBuild, setProgress } from './build-store.js'
import { updateDocument, uploadedDocuments } from './document-store.js'
import { indexKey, passagesKey } from './objects.js'
import { INLINE_TOKENS } from './view.js'

/** Attempts after faults of the service: a full disk, a database that is away, a process that was killed. */
const ATTEMPTS = 8
const MAX_PASSAGES = 50_000
/** Maximum number of documents whose unreadable parts a build reports. */
const MAX_WARNINGS = 20
/** Builds at the same time in this process. The documents are read one after the other. */
const CONCURRENCY = 2

type Documents = Awaited<ReturnType<typeof uploadedDocuments>>

export interface BuildDeps {
  readonly db: Db
  readonly objects: ObjectStore
  readonly clock: Clock
  readonly log: Log
  readonly documents: DocumentReader
  readonly models: BuildModels
}

/** Result of a build, and the deletion that goes with it. */
interface Built {
  readonly result: BuildResult
  readonly prune?: (trx: Trx) => Promise<void>
}

/**
 * Returns the handler that builds knowledge bases. Each document is read once and its passages are stored; after a
 * crash the job goes on with the rest. The index of a build is an object of its own, which serves when the last
 * transaction says so.
 */
export function buildHandler(deps: BuildDeps): JobHandler {
  const { db, clock, log } = deps
  return {
    kind: BUILD_JOB,
    concurrency: CONCURRENCY,
    laneLimit: () => 1,
    async run(job) {
      const build = await findOpenBuild(db, job.payload)
      if (build === null) return async () => null
      const { result, prune } = await resultOf(deps, job, build)
      const { status } = result
      log.info({ build: build.id, status }, 'knowledge.built')
      return async (trx) => {
        await finishBuild(trx, build, result, clock.wall())
        await prune?.(trx)
        return null
      }
    },
  }
}

/** Throws faults that a repetition may remove. */
async function resultOf(deps: BuildDeps, job: ClaimedJob, build: KnowledgeBuildRow): Promise<Built> {
  try {
    return await buildOnce(deps, job, build)
  } catch (error) {
    if (job.attempts < ATTEMPTS || job.signal.aborted) throw error
    deps.log.error({ build: build.id, error: errorText(error) }, 'knowledge.build_failed')
    return failed('The service could not build the knowledge base. Try again later.')
  }
}

async function buildOnce(deps: BuildDeps, job: ClaimedJob, build: KnowledgeBuildRow): Promise<Built> {
  const { organizationId, knowledgeBaseId } = build
  const rows = await uploadedDocuments(deps.db, organizationId, knowledgeBaseId)
  if (rows.length === 0) return failed('The knowledge base has no documents.')
  const { documents, warnings: unread } = await readDocuments(deps, job, build, rows)
  const passages = documents.reduce((sum, document) => sum + document.passages.length, 0)
  if (passages === 0) {
    return failed('None of the documents can be read. The error of each document says why.')
  }
  if (passages > MAX_PASSAGES) {
    return failed(`The documents have ${passages} passages; ${MAX_PASSAGES} are allowed. Delete documents.`)
  }
  const { vectors, questions, warnings, prune } = await makeExtras(deps, job, build, documents)
  const index = await deps.documents.index(organizationId, documents, { vectors, questions })
  if (index.kind === 'refused') return failed(index.reason)
  await writeObject(deps.objects, indexKey(knowledgeBaseId, build.id), index.bytes)
  const text = wholeText(documents)
  const compiledTokens = estimateTokens(text)
  const inlineText = compiledTokens <= INLINE_TOKENS ? text : null
  const embeddingModel = vectors?.model ?? null
  const made = {
    chunkCount: passages,
    compiledTokens,
    inlineText,
    embeddingModel,
    warnings: [...unread, ...warnings],
  }
  return { result: { status: 'completed', ...made }, prune }
}

function failed(error: string): Built {
  return { result: { status: 'failed', error } }
}

/** Returns the readable documents with their passages. The others get the reason as their error. */
async function readDocuments(
  deps: BuildDeps,
  job: ClaimedJob,
  build: KnowledgeBuildRow,
  rows: Documents,
): Promise<{ readonly documents: IndexedDocument[]; readonly warnings: readonly string[] }> {
  const documents: IndexedDocument[] = []
  const warnings: string[] = []
  for (const [at, row] of rows.entries()) {
    job.signal.throwIfAborted()
    const outcome = await passagesOfDocument(deps, job, row)
    await job.write(async (trx) => {
      await updateDocument(
        trx,
        row,
        typeof outcome === 'string'
          ? { status: 'error', error: outcome, chunkCount: null, textKey: null }
          : {
              status: 'ready',
              error: null,
              chunkCount: outcome.passages.length,
              textKey: passagesKey(row.knowledgeBaseId, row.id),
            },
      )
      await setProgress(trx, build.id, at + 1, rows.length)
    })
    if (typeof outcome === 'string') continue
    documents.push({ id: row.id, name: row.name, passages: outcome.passages })
    for (const warning of outcome.warnings) {
      if (warnings.length < MAX_WARNINGS) warnings.push(`${row.name}: ${warning}`)
    }
  }
  return { documents, warnings }
}

/** The text of a document, as it is stored for later builds. */
interface StoredText {
  readonly passages: readonly Passage[]
  readonly warnings: readonly string[]
}

/** Returns the passages of a document, or why it cannot be read. */
async function passagesOfDocument(
  deps: BuildDeps,
  job: ClaimedJob,
  row: Documents[number],
): Promise<StoredText | string> {
  const { objects } = deps
  const key = passagesKey(row.knowledgeBaseId, row.id)
  const stored = row.textKey === key ? storedText(await readObject(objects, key)) : null
  if (stored?.judged) return stored
  await job.write((trx) => updateDocument(trx, row, { status: 'processing' }))
  const bytes = row.key === null ? null : await readObject(objects, row.key)
  if (bytes === null) return stored ?? 'The file is missing. Upload it again.'
  const outcome = await deps.documents.read(row.organizationId, row.contentType, bytes)
  if (outcome.kind === 'refused') return outcome.reason
  const { passages, warnings } = outcome
  await writeObject(objects, key, Buffer.from(JSON.stringify({ passages, warnings } satisfies StoredText)))
  return { passages, warnings }
}

/** Reads a stored text. Earlier releases stored the passages alone, and did not check whether they can be read. */
function storedText(bytes: Buffer | null): (StoredText & { readonly judged: boolean }) | null {
  if (bytes === null) return null
  const stored: StoredText | readonly Passage[] = JSON.parse(bytes.toString('utf8'))
  return 'passages' in stored
    ? { ...stored, judged: true }
    : { passages: stored, warnings: [], judged: false }
}

/** Returns the text of all documents as it stands in a prompt. */
function wholeText(documents: readonly IndexedDocument[]): string {
  return documents
    .map(({ name, passages }) => {
      const parts = passages.map(({ text, heading }, at) =>
        heading === '' || heading === passages[at - 1]?.heading ? text : `${heading}\n${text}`,
      )
      return [`# ${name}`, ...parts].join('\n\n')
    })
    .join('\n\n')
}
