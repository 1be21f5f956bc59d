import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../media/base/project-root.js'
import type { IndexedDocument } from '../../media/knowledge/passage-index.js'

/** The set of the authors of the ranking rules, and one of other hands, written without reading the rules. */
export const QUESTION_SETS = ['question-set.txt', 'independent-set.txt'] as const
export type QuestionSetFile = (typeof QUESTION_SETS)[number]

/** A question and the passage that answers it. */
export interface TestQuestion {
  /**
   * Language, or `mixed` (Latin letters), `misspelt`, `heard` (spelt by ear), `code` (numbers and codes), `cross`
   * (Hindi on an English document, English on another), `none` (no answer).
   */
  readonly kind: string
  /** Language of the document that answers. */
  readonly language: string
  readonly text: string
  readonly documentId: string
  readonly index: number
}

/**
 * Reads a set: `@ language title` begins a document, `# title` a section, `? kind question` is a question that the
 * section before it answers.
 */
export function readQuestionSet(file: QuestionSetFile = 'question-set.txt'): {
  readonly documents: readonly IndexedDocument[]
  readonly questions: readonly TestQuestion[]
} {
  const documents: { id: string; name: string; passages: { text: string; heading: string; page: null }[] }[] =
    []
  const questions: TestQuestion[] = []
  let language = ''
  let heading = ''
  const path = join(projectRoot, 'bench/knowledge', file)
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [, mark = '', first = '', rest = ''] = /^([@#?]) (\S+) ?(.*)$/u.exec(line) ?? []
    const document = documents.at(-1)
    if (mark === '@') {
      language = first
      if (rest !== '') documents.push({ id: `doc_${documents.length}`, name: rest, passages: [] })
    } else if (mark === '#') heading = `${first} ${rest}`.trim()
    else if (mark === '?' && document !== undefined) {
      const index = document.passages.length - 1
      questions.push({ kind: first, language, text: rest, documentId: document.id, index })
    } else if (line !== '') document?.passages.push({ text: line, heading, page: null })
  }
  return { documents, questions }
}
