import { readQuestionSet } from './question-set.js'

/** Documents of the base that the benches build: together 20 MiB. */
export const DOCUMENTS = 100
const DOCUMENT_BYTES = (20 * 1024 * 1024) / DOCUMENTS

const sentences = readQuestionSet().documents.flatMap(({ passages }) =>
  passages.flatMap(({ text }) => text.split(/(?<=[.।]) /)),
)

/** Returns a document of sentences of the question set, in another order for each number. */
export function benchDocument(number: number): string {
  const parts: string[] = []
  for (let size = 0, at = number * 7919; size < DOCUMENT_BYTES; at += 31 + (number % 17)) {
    const part = `${sentences[at % sentences.length]} ${at}.${parts.length % 5 === 4 ? '\n\n' : ''}`
    parts.push(part)
    size += Buffer.byteLength(part) + 1
  }
  return parts.join(' ')
}
