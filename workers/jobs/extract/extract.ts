import markdownIt from 'markdown-it'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { csvBlocks } from './csv.js'
import { docxBlocks } from './docx.js'
import { htmlBlocks } from './html.js'
import { pdfBlocks } from './pdf.js'
import { CharacterCount, RefusedDocument } from './refused-document.js'
import { decodeText, textBlocks } from './text.js'

/** Reads one type of document. */
type Extractor = (bytes: Uint8Array) => TextBlock[] | Promise<TextBlock[]>

const EXTRACTORS: Readonly<Record<string, Extractor>> = {
  'application/pdf': pdfBlocks,
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': docxBlocks,
  'text/html': (bytes) => htmlBlocks(decodeText(bytes)),
  'text/markdown': (bytes) => htmlBlocks(markdown(decodeText(bytes))),
  'text/csv': (bytes) => csvBlocks(decodeText(bytes)),
  'text/plain': (bytes) => textBlocks(decodeText(bytes)),
}

/** Returns the text of a document. Throws `RefusedDocument` with a reason for the person who uploaded it. */
export async function extract(contentType: string, bytes: Uint8Array): Promise<TextBlock[]> {
  const extractor = EXTRACTORS[contentType]
  if (extractor === undefined) throw new RefusedDocument(`Documents of type ${contentType} cannot be read.`)
  const blocks = await extractor(bytes)
  const count = new CharacterCount()
  for (const { text } of blocks) count.add(text)
  if (blocks.length === 0) throw new RefusedDocument('The document contains no text.')
  return blocks
}

function markdown(text: string): string {
  // This preset limits the nesting of quotes and lists.
  return markdownIt('commonmark', { html: false }).enable('table').render(text)
}
