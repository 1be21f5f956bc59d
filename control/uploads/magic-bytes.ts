import { RefusedBody } from '../api/content.js'
import { refuse } from '../api/problem.js'

/** First bytes of the file types that are accepted as documents (ISO 32000-1 7.5.2, ISO 10918-1, PNG 5.2). */
const MAGIC_BYTES = {
  'application/pdf': [0x25, 0x50, 0x44, 0x46, 0x2d],
  'image/jpeg': [0xff, 0xd8, 0xff],
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
} as const

export type DocumentType = keyof typeof MAGIC_BYTES
export const DOCUMENT_TYPES = Object.keys(MAGIC_BYTES) as [DocumentType, ...DocumentType[]]

/**
 * Passes the bytes of a document on. Throws `RefusedBody` before the first of them when they are not a file of
 * this type, whatever the client called it.
 */
export async function* checkedDocument(
  content: AsyncIterable<Uint8Array>,
  contentType: DocumentType,
): AsyncGenerator<Uint8Array> {
  const magic = MAGIC_BYTES[contentType]
  let head: Buffer | null = Buffer.alloc(0)
  for await (const chunk of content) {
    if (head === null) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < magic.length) continue
    if (!magic.every((byte, at) => head?.[at] === byte)) throw wrongType(contentType)
    yield head
    head = null
  }
  if (head !== null) throw wrongType(contentType)
}

function wrongType(contentType: DocumentType): RefusedBody {
  const message = `The bytes are not a file of type ${contentType}.`
  return new RefusedBody(refuse('unprocessable_entity', message, { contentType }))
}
