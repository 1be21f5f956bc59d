import mammoth from 'mammoth'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { htmlBlocks } from './html.js'
import { RefusedDocument } from './refused-document.js'

const MIB = 1024 * 1024
const MAX_ENTRIES = 2000
const MAX_ENTRY_BYTES = 64 * MIB
const MAX_TOTAL_BYTES = 200 * MIB
const MAIN_PART = 'word/document.xml'
/** Bytes of an XML part in which a document type declaration must stand (XML 1.0, 2.8). */
const PROLOGUE_BYTES = 4096

const DAMAGED = 'The file is damaged, or it is not a Word document. Save it again as DOCX.'
const BOMB = 'The file unpacks to far more data than a document has. It was not read.'

/** Returns the blocks of a Word document (ECMA-376). Throws `RefusedDocument`. */
export async function docxBlocks(bytes: Uint8Array): Promise<TextBlock[]> {
  const buffer = Buffer.from(bytes)
  await checkArchive(buffer)
  let html: string
  try {
    // Pictures are left out: the files that they link to are never opened.
    const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
    html = (await mammoth.convertToHtml({ buffer }, { convertImage })).value
  } catch {
    throw new RefusedDocument(DAMAGED)
  }
  return htmlBlocks(html)
}

/**
 * Reads the whole archive once and counts the bytes that it really unpacks to; the sizes that it states may lie.
 * Throws `RefusedDocument` for a bomb, for an encrypted archive and for XML with a document type declaration, which
 * could define entities.
 */
async function checkArchive(buffer: Buffer): Promise<void> {
  const zip = await opened(buffer)
  if (zip.entryCount > MAX_ENTRIES) throw new RefusedDocument(BOMB)
  let total = 0
  let hasMainPart = false
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted())
      throw new RefusedDocument('The file is protected by a password. Remove it first.')
    if (entry.fileName === MAIN_PART) hasMainPart = true
    total += await inflatedBytes(zip, entry, MAX_TOTAL_BYTES - total)
  }
  if (!hasMainPart) throw new RefusedDocument(DAMAGED)
}

async function opened(buffer: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(buffer, { lazyEntries: true, validateEntrySizes: false })
  } catch {
    throw new RefusedDocument(DAMAGED)
  }
}

async function inflatedBytes(zip: ZipFile, entry: Entry, left: number): Promise<number> {
  const limit = Math.min(MAX_ENTRY_BYTES, left)
  let bytes = 0
  let prologue = ''
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      const part = Buffer.from(chunk)
      if (bytes < PROLOGUE_BYTES) prologue += part.toString('latin1', 0, PROLOGUE_BYTES)
      bytes += part.length
      if (bytes > limit) throw new RefusedDocument(BOMB)
    }
  } catch (error) {
    if (error instanceof RefusedDocument) throw error
    throw new RefusedDocument(DAMAGED)
  }
  if (/\.(?:xml|rels)$/.test(entry.fileName) && /<!\s*(?:DOCTYPE|ENTITY)/i.test(prologue)) {
    throw new RefusedDocument('The file defines XML entities, which no Word document does. It was not read.')
  }
  return bytes
}
