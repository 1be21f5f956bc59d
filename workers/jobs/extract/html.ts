import { Parser } from 'htmlparser2'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'

/** Elements whose text is no part of the document. */
const SKIPPED = new Set(
  'script style noscript template svg head nav footer aside form button select iframe'.split(' '),
)
/** Elements that end a paragraph. */
const BLOCKS = new Set(
  (
    'p div section article main header li ul ol dl dt dd tr table caption blockquote pre h1 h2 h3 h4 h5 h6 br hr ' +
    'body figure figcaption summary details address'
  ).split(' '),
)
const CELLS = new Set(['td', 'th'])
const SPACES = /\s+/g

/**
 * Returns the blocks of an HTML page. It is read as a stream, so that its depth costs nothing, and nothing is
 * fetched. Cells of a table row are separated by ` | `.
 */
export function htmlBlocks(html: string): TextBlock[] {
  const blocks: TextBlock[] = []
  let text = ''
  let level: number | null = null
  let skipped = 0
  const end = (): void => {
    const trimmed = withoutLastCells(text.replace(SPACES, ' ')).trim()
    if (trimmed !== '') blocks.push({ text: trimmed, level, page: null })
    text = ''
  }
  const parser = new Parser(
    {
      onopentag(name) {
        if (SKIPPED.has(name)) skipped++
        // A paragraph in a cell belongs to the row.
        if (BLOCKS.has(name)) {
          end()
          level = headingLevel(name)
        }
      },
      ontext(part) {
        if (skipped === 0) text += part
      },
      onclosetag(name) {
        if (SKIPPED.has(name)) skipped = Math.max(0, skipped - 1)
        if (CELLS.has(name)) text += ' | '
        if (BLOCKS.has(name)) {
          end()
          level = null
        }
      },
    },
    { decodeEntities: true },
  )
  parser.end(html)
  end()
  return blocks
}

/** Removes the separators of empty cells at the end of a row. */
function withoutLastCells(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '|')) end--
  return text.slice(0, end)
}

function headingLevel(name: string): number | null {
  return /^h[1-6]$/.test(name) ? Number(name[1]) : null
}
