import { posix } from 'node:path'
import { Parser } from 'htmlparser2'
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
const RELATIONSHIPS = '_rels/.rels'
const MAX_RELATIONSHIPS = 256 * 1024
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
  const names = new Set<string>()
  let relationships = ''
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted())
      throw new RefusedDocument('The file is protected by a password. Remove it first.')
    names.add(entry.fileName)
    const keep = entry.fileName === RELATIONSHIPS
    total += await inflatedBytes(zip, entry, MAX_TOTAL_BYTES - total, (part) => {
      if (keep && relationships.length < MAX_RELATIONSHIPS) relationships += part
    })
  }
  if (!names.has(mainPart(relationships))) throw new RefusedDocument(DAMAGED)
}

async function opened(buffer: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(buffer, { lazyEntries: true, validateEntrySizes: false })
  } catch {
    throw new RefusedDocument(DAMAGED)
  }
}

/**
 * Returns the part with the text: the target of the package's relationship `officeDocument` (ECMA-376 part 2, 9.3). Word
 * Online calls it `word/document2.xml`.
 */
function mainPart(relationships: string): string {
  let target: string | null = null
  const parser = new Parser(
    {
      onopentag(name, { Type: type = '', Target: given = '' }) {
        if (name.endsWith('Relationship') && type.endsWith('/officeDocument')) target ??= given
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(relationships)
  return posix.normalize(`/${target ?? MAIN_PART}`).slice(1)
}

async function inflatedBytes(
  zip: ZipFile,
  entry: Entry,
  left: number,
  keep: (text: string) => void,
): Promise<number> {
  const limit = Math.min(MAX_ENTRY_BYTES, left)
  let bytes = 0
  const scan = /\.(?:xml|rels)$/.test(entry.fileName) ? new DeclarationScan() : null
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      const part = Buffer.from(chunk)
      const text = part.toString('latin1')
      scan?.add(text)
      keep(text)
      bytes += part.length
      if (bytes > limit) throw new RefusedDocument(BOMB)
    }
  } catch (error) {
    if (error instanceof RefusedDocument) throw error
    throw new RefusedDocument(DAMAGED)
  }
  if (scan?.found === 'declaration') {
    throw new RefusedDocument('The file defines XML entities, which no Word document does. It was not read.')
  }
  if (scan?.found === 'open') throw new RefusedDocument(DAMAGED)
  return bytes
}

const COMMENT = '<!--'
const CDATA = '<![CDATA['

/**
 * Looks for a declaration in the text of an XML part, piece by piece: outside of comments, CDATA sections and processing
 * instructions `<!` begins nothing else (XML 1.0, 2.8). The whole part is scanned, because parsers accept declarations at
 * any place. A mark may end in the characters that begin it (`<!-->`), which finds more than a strict parser does.
 */
class DeclarationScan {
  /** Text that a mark may begin with, or the end of what is skipped. */
  #rest = ''
  /** Mark that ends what is skipped. */
  #until: string | null = null
  #declared = false

  add(text: string): void {
    if (this.#declared) return
    const all = this.#rest + text
    this.#rest = ''
    for (let at = 0; ; ) {
      if (this.#until !== null) {
        const end = all.indexOf(this.#until, at)
        if (end < 0) {
          this.#rest = all.slice(Math.max(at, all.length - this.#until.length + 1))
          return
        }
        at = end + this.#until.length
        this.#until = null
      }
      const begin = all.indexOf('<', at)
      if (begin < 0) return
      const mark = all.slice(begin, begin + CDATA.length)
      if (COMMENT.startsWith(mark) || CDATA.startsWith(mark)) {
        if (mark !== CDATA) {
          this.#rest = mark
          return
        }
        this.#until = ']]>'
        at = begin + CDATA.length
      } else if (mark.startsWith(COMMENT)) {
        this.#until = '-->'
        at = begin + 2
      } else if (mark.startsWith('<?')) {
        this.#until = '?>'
        at = begin + 1
      } else if (mark.startsWith('<!')) {
        this.#declared = true
        return
      } else at = begin + 1
    }
  }

  /** `open`: the part ends within a comment, a CDATA section or a processing instruction. Null if all is well. */
  get found(): 'declaration' | 'open' | null {
    if (this.#declared) return 'declaration'
    return this.#until === null ? null : 'open'
  }
}
