import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { PassageIndex } from '../../media/knowledge/passage-index.js'
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
/** Characters of a passage that are printed. */
const SHOWN = 300

/**
 * Reads one document as a build does and returns the passages that an agent would get for the question, as text to
 * print. Throws UsageError for a file that cannot be read.
 */
export async function tryKnowledge([path, question, ...rest]: readonly string[]): Promise<string> {
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
    const read = await jobs.read(contentType, bytes)
    if (read.kind === 'refused') throw new UsageError(read.reason)
    const index = await jobs.index([{ id: 'doc', name: basename(path), passages: read.passages }])
    const found = new PassageIndex(Buffer.from(index)).search({ text: question }, PASSAGES)
    const lines = found.map(({ score, page, heading, text }) => {
      const place = [page === null ? '' : `page ${page}`, heading].filter((part) => part !== '').join(', ')
      return `${score.toFixed(2)}  ${place}\n      ${text.slice(0, SHOWN).replaceAll('\n', '\n      ')}\n`
    })
    return [`${read.passages.length} passages, ${found.length} found`, ...lines].join('\n')
  } finally {
    await jobs.close()
  }
}
