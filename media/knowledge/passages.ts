import type { TextBlock } from './text-blocks.js'

/** Part of a document that answers a question on its own. */
export interface Passage {
  readonly text: string
  /** Titles of the sections around it, from the outside in. Empty when the format has none. */
  readonly heading: string
  /** Page on which it begins, from 1. Null when the format has no pages. */
  readonly page: number | null
}

/** Returns a passage as models read it: with what its document and its sections are about. */
export function modelText(documentName: string, { heading, text }: Passage): string {
  return `${documentName}\n${heading}\n${text}`
}

/**
 * Length of a passage (UTF-16 units). Characters and not tokens: a Hindi text has twice as many tokens as the
 * English one that says the same.
 */
const MAX_LENGTH = 800
/** Ends of sentences in Latin and Indian scripts, and ends of lines. */
const SENTENCE_END = /(?<=[.?!।॥][\s"')\]]{0,8})\s{1,40}|\n{1,40}/u

/** Cuts a document into passages: at headings, then between paragraphs, then between sentences. */
export function passagesOf(blocks: readonly TextBlock[]): Passage[] {
  const passages: Passage[] = []
  const headings: (string | undefined)[] = []
  let text = ''
  let page: number | null = null
  const flush = (): void => {
    if (text !== '') {
      passages.push({ text, heading: headings.filter((title) => title !== undefined).join(' > '), page })
    }
    text = ''
  }
  const add = (piece: string, from: number | null, separator: string): void => {
    if (text !== '' && text.length + separator.length + piece.length > MAX_LENGTH) flush()
    if (text === '') page = from
    text = text === '' ? piece : text + separator + piece
  }
  for (const block of blocks) {
    if (block.level !== null) {
      flush()
      headings.length = block.level - 1
      headings[block.level - 1] = block.text.slice(0, MAX_LENGTH)
      continue
    }
    if (block.text.length <= MAX_LENGTH) add(block.text, block.page, '\n')
    else for (const sentence of sentencesOf(block.text)) add(sentence, block.page, ' ')
  }
  flush()
  // A document of headings only has its headings as text.
  if (passages.length > 0) return passages
  const titles = blocks.map((block) => block.text).join('\n')
  return titles === '' ? [] : sentencesOf(titles).map((part) => ({ text: part, heading: '', page: null }))
}

/** Returns sentences, none of them longer than a passage. */
function sentencesOf(text: string): string[] {
  return text.split(SENTENCE_END).flatMap((sentence) => {
    const parts: string[] = []
    let rest = sentence.trim()
    while (rest.length > MAX_LENGTH) {
      const space = rest.lastIndexOf(' ', MAX_LENGTH)
      const cut = space > MAX_LENGTH / 2 ? space : surrogateSafe(rest, MAX_LENGTH)
      parts.push(rest.slice(0, cut).trim())
      rest = rest.slice(cut).trim()
    }
    return rest === '' ? parts : [...parts, rest]
  })
}

function surrogateSafe(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code < 0xe000 ? at - 1 : at
}
