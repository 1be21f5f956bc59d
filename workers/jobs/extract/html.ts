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

/** An open heading: an element `h1` to `h6`, or one with that role (WAI-ARIA). */
interface Heading {
  readonly name: string
  readonly level: number
  readonly isRole: boolean
  /** Number of open elements with this name: the heading and those within it. */
  depth: number
}

/**
 * Returns the blocks of an HTML page. It is read as a stream, so that its depth costs nothing, and nothing is
 * fetched. Cells of a table row are separated by ` | `.
 */
export function htmlBlocks(html: string): TextBlock[] {
  const blocks: TextBlock[] = []
  let text = ''
  let skipped = 0
  let heads = 0
  /** Open headings, the innermost one last. */
  const headings: Heading[] = []
  /** For each open button, whether its text is skipped. */
  const buttons: boolean[] = []
  const end = (): void => {
    const trimmed = withoutLastCells(text.replace(SPACES, ' ')).trim()
    if (trimmed !== '') blocks.push({ text: trimmed, level: headings.at(-1)?.level ?? null, page: null })
    text = ''
  }
  /** Begins a block or heading. A block within a heading does not end the heading, which is one text of several lines. */
  const begin = (name: string, isHeading: boolean): void => {
    const top = headings.at(-1)
    if (top !== undefined) text = text.replace(SPACES, ' ')
    if (top !== undefined && text.length > MAX_HEADING) headings.length = 0
    else if (top !== undefined && !isHeading && (top.isRole || name === 'br' || text.trim() === '')) {
      text += ' '
      return
    }
    end()
    // The end tag of the open heading is missing or wrong.
    if (top?.isRole === false && (!isHeading || headingLevel(name) !== null)) headings.pop()
  }
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (SKIPPED.has(name)) skipped++
        if (HEADS.has(name)) heads++
        if (name === 'button') {
          const opens = 'aria-expanded' in attributes || 'aria-controls' in attributes
          const skips = heads === 0 && headings.length === 0 && !opens
          buttons.push(skips)
          if (skips) skipped++
          else if (heads === 0) end()
        }
        const own = headingLevel(name)
        const level = own ?? (attributes.role === 'heading' ? roleLevel(attributes['aria-level']) : null)
        // A paragraph in a cell belongs to the row.
        if (level !== null || BLOCKS.has(name)) begin(name, level !== null)
        const top = headings.at(-1)
        if (level !== null && headings.length < MAX_HEADINGS) {
          headings.push({ name, level, isRole: own === null, depth: 1 })
        } else if (top?.name === name) top.depth++
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
          else if (heads === 0 && headings.length === 0) end()
        }
        const top = headings.at(-1)
        if (top?.name === name && --top.depth === 0) {
          end()
          headings.pop()
        } else if (top !== undefined && BLOCKS.has(name)) text += ' '
        else if (BLOCKS.has(name)) end()
        if (CELLS.has(name)) text += ' | '
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

const MAX_HEADINGS = 100
/** Maximum length (UTF-16 units) of a heading in which blocks begin. A longer one is a section with wrong marks. */
const MAX_HEADING = 300
/** Level of a heading without a stated one (WAI-ARIA 1.2). */
const ROLE_LEVEL = 2

function roleLevel(given: string | undefined): number {
  const level = Number(given ?? ROLE_LEVEL)
  return Number.isInteger(level) ? Math.min(6, Math.max(1, level)) : ROLE_LEVEL
}

function headingLevel(name: string): number | null {
  return /^h[1-6]$/.test(name) ? Number(name[1]) : null
}
