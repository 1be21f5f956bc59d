import markdownIt from 'markdown-it'
import { decodeText } from '../../../media/base/decode-text.js'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { csvBlocks } from './csv.js'
import { docxBlocks } from './docx.js'
import { htmlBlocks } from './html.js'
import { pdfBlocks, rejoined } from './pdf.js'
import { type ReadText, readableBlocks } from './readable.js'
import { CharacterCount, RefusedDocument } from './refused-document.js'
import { textBlocks } from './text.js'

/** Reads one type of document. */
type Extractor = (bytes: Uint8Array) => TextBlock[] | Promise<TextBlock[]>

const PDF = 'application/pdf'

const EXTRACTORS: Readonly<Record<string, Extractor>> = {
  [PDF]: pdfBlocks,
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': docxBlocks,
  'text/html': (bytes) => htmlBlocks(decodeText(bytes)),
  'text/markdown': (bytes) => htmlBlocks(markdown(decodeText(bytes))),
  'text/csv': (bytes) => csvBlocks(decodeText(bytes)),
  'text/plain': (bytes) => textBlocks(decodeText(bytes)),
}

/**
 * Returns the readable text of a document, with warnings about pages that are left out. Throws `RefusedDocument` with
 * a reason for the person who uploaded it.
 */
export async function extract(contentType: string, bytes: Uint8Array): Promise<ReadText> {
  const extractor = EXTRACTORS[contentType]
  if (extractor === undefined) throw new RefusedDocument(`Documents of type ${contentType} cannot be read.`)
  const found = await extractor(bytes)
  const count = new CharacterCount()
  for (const { text } of found) count.add(text)
  const { blocks, warnings } = readableBlocks(found)
  if (blocks.length === 0) throw new RefusedDocument('The document contains no text.')
  // The order of signs is judged before the spaces around them are removed.
  const joined = blocks.map((block) => ({ ...block, text: rejoined(block.text).trim() }))
  return { blocks: contentType === PDF ? joined : blocks, warnings }
}

function markdown(text: string): string {
  // This preset limits the nesting of quotes and lists.
  return markdownIt('commonmark', { html: false }).enable('table').render(text)
}
