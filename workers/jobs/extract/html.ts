import { Parser } from 'htmlparser2'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'

/** Elements whose text is no part of the document. A form may hold a whole page (ASP.NET Web Forms). */
const SKIPPED = new Set(
  'script style noscript template svg head nav footer aside select textarea datalist iframe'.split(' '),
)
/** Elements in which a button is the text itself: the headings of sections that open. */
const HEADS = new Set('h1 h2 h3 h4 h5 h6 summary dt'.split(' '))
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
  let heads = 0
  /** The open elements that are headings by their role (WAI-ARIA), by name. */
  const roles: string[] = []
  /** For each open button, whether its text is skipped. */
  const buttons: boolean[] = []
  const end = (): void => {
    const trimmed = withoutLastCells(text.replace(SPACES, ' ')).trim()
    if (trimmed !== '') blocks.push({ text: trimmed, level, page: null })
    text = ''
  }
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (SKIPPED.has(name)) skipped++
        if (HEADS.has(name)) heads++
        if (name === 'button') {
          const opens = 'aria-expanded' in attributes || 'aria-controls' in attributes
          const skips = heads === 0 && roles.length === 0 && !opens
          buttons.push(skips)
          if (skips) skipped++
          else if (heads === 0) end()
        }
        if (attributes.role === 'heading' && headingLevel(name) === null && roles.length < MAX_ROLES) {
          roles.push(name)
          end()
          level = roleLevel(attributes['aria-level'])
          return
        }
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
        if (HEADS.has(name)) heads = Math.max(0, heads - 1)
        if (name === 'button') {
          const skips = buttons.pop() ?? false
          if (skips) skipped = Math.max(0, skipped - 1)
          else if (heads === 0 && roles.length === 0) end()
        }
        if (roles.at(-1) === name) {
          roles.pop()
          end()
          level = null
        }
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

const MAX_ROLES = 100
/** Level of a heading without a stated one (WAI-ARIA 1.2). */
const ROLE_LEVEL = 2

function roleLevel(given: string | undefined): number {
  const level = Number(given ?? ROLE_LEVEL)
  return Number.isInteger(level) ? Math.min(6, Math.max(1, level)) : ROLE_LEVEL
}

function headingLevel(name: string): number | null {
  return /^h[1-6]$/.test(name) ? Number(name[1]) : null
}
