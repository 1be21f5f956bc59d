import { RefusedBody } from '../api/content.js'
import { refuse } from '../api/problem.js'

/**
 * First bytes of binary file types (ISO 32000-1 7.5.2, ISO 10918-1, PNG 5.2, APPNOTE.TXT 4.3.7). Null for text,
 * which has no first bytes of its own.
 */
const MAGIC_BYTES = {
  'application/pdf': [0x25, 0x50, 0x44, 0x46, 0x2d],
  'image/jpeg': [0xff, 0xd8, 0xff],
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': [0x50, 0x4b, 0x03, 0x04],
  'text/plain': null,
  'text/markdown': null,
  'text/html': null,
  'text/csv': null,
} as const satisfies Readonly<Record<string, readonly number[] | null>>

export type FileType = keyof typeof MAGIC_BYTES
export const FILE_TYPES = Object.keys(MAGIC_BYTES) as [FileType, ...FileType[]]

/** Types of the documents of a verification. */
export const DOCUMENT_TYPES = ['application/pdf', 'image/jpeg', 'image/png'] as const satisfies FileType[]

/** Compound files: old Office documents, and new ones with a password (MS-CFB 2.2). */
const COMPOUND_FILE = [0xd0, 0xcf, 0x11, 0xe0]
const BINARY = [...Object.values(MAGIC_BYTES).filter((magic) => magic !== null), COMPOUND_FILE]
const HEAD_BYTES = 8

/**
 * Passes the bytes of a file on. Throws `RefusedBody` before the first of them when they are not a file of this
 * type, whatever the client called it. Text is anything without NUL bytes, or UTF-16 with a byte order mark.
 */
export async function* checkedFile(
  content: AsyncIterable<Uint8Array>,
  contentType: FileType,
): AsyncGenerator<Uint8Array> {
  let head: Buffer | null = Buffer.alloc(0)
  for await (const chunk of content) {
    if (head === null) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < HEAD_BYTES) continue
    if (!isOfType(head, contentType)) throw wrongType(head, contentType)
    yield head
    head = null
  }
  if (head === null) return
  if (!isOfType(head, contentType)) throw wrongType(head, contentType)
  yield head
}

function isOfType(head: Buffer, contentType: FileType): boolean {
  const magic = MAGIC_BYTES[contentType]
  if (magic !== null) return beginsWith(head, magic)
  if (head.length === 0 || BINARY.some((other) => beginsWith(head, other))) return false
  return beginsWith(head, [0xff, 0xfe]) || beginsWith(head, [0xfe, 0xff]) || !head.includes(0)
}

function beginsWith(head: Buffer, bytes: readonly number[]): boolean {
  return bytes.every((byte, at) => head[at] === byte)
}

function wrongType(head: Buffer, contentType: FileType): RefusedBody {
  const message = beginsWith(head, COMPOUND_FILE)
    ? 'The file is protected by a password, or of an old Office format. Save it as a DOCX file without a password.'
    : `The bytes are not a file of type ${contentType}.`
  return new RefusedBody(refuse('unprocessable_entity', message, { contentType }))
}
