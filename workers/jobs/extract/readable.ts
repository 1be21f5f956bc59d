import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { RefusedDocument } from './refused-document.js'

/*
 * Judges the text of a document before it is indexed. Three kinds of damaged text would not be found, or would be
 * read out wrongly: glyphs of a PDF without their letters, glyphs in the order in which they are drawn, and a wrong
 * encoding.
 */

/** The usable text of a document. */
export interface ReadText {
  readonly blocks: TextBlock[]
  /** Sentences for the owner about parts that are left out. */
  readonly warnings: readonly string[]
}

/** Damage of a word: unknown letters, signs in the wrong order, a wrong encoding, or scripts that do not mix. */
export type Damage = 'unknown' | 'order' | 'encoding' | 'scripts'

/** Share of damaged words above which a text is not used. One damaged word among others is accepted. */
const MOST_DAMAGED = 0.02
/** Maximum number of page ranges in a sentence. */
const MAX_RANGES = 12

const REASON: Readonly<Record<Damage, string>> = {
  unknown: 'the file does not say which letters they are made of',
  order: 'the vowel signs stand in the order in which they are drawn, not in the order of the letters',
  encoding: 'the text was saved in another encoding than it was written in',
  scripts: 'letters of several scripts are mixed within words',
}
const HELP =
  'Save the document again with another program, for example from its source as DOCX, or upload its text in UTF-8.'

/** Control characters, replacement characters, private and unassigned ones. */
const UNKNOWN = /(?![\t\n\v\f\r])[\p{Cc}\ufffd\p{Co}\p{Cn}]/u
const ALL_UNKNOWN = new RegExp(UNKNOWN.source, 'gu')
/** Bullets of symbol fonts stand alone. */
const BULLET = /^\p{Co}$/u
const LETTER = /[\p{L}\p{M}]/u
/** Bytes of UTF-8 that were read as windows-1252: Indian scripts, and Latin letters with marks. */
const MOJIBAKE = /\u00e0[\u00a4-\u00b5]|[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac/
const LATIN = /\p{Script=Latin}/u

/**
 * Returns the blocks of the pages that can be read, with a warning that names the others. Throws `RefusedDocument` when
 * no page can be read. A document without pages is one page.
 */
export function readableBlocks(blocks: readonly TextBlock[]): ReadText {
  const pages = new Map<number | null, TextBlock[]>()
  for (const block of blocks) {
    const page = pages.get(block.page)
    if (page === undefined) pages.set(block.page, [block])
    else page.push(block)
  }
  const good: TextBlock[] = []
  /** The pages with each damage. Empty for a document without pages. */
  const bad = new Map<Damage, number[]>()
  for (const [page, parts] of pages) {
    const damage = damageOf(parts.map(({ text }) => text))
    if (damage === null) {
      good.push(...parts.map(cleaned).filter(({ text }) => text !== ''))
      continue
    }
    const damaged = bad.get(damage) ?? []
    if (page !== null) damaged.push(page)
    bad.set(damage, damaged)
  }
  if (bad.size === 0) return { blocks: good, warnings: [] }
  const reasons = [...bad].map(([damage, damaged]) => {
    const place = damaged.length === 0 ? 'the document' : pagesText(damaged)
    return `The words of ${place} cannot be read: ${REASON[damage]}.`
  })
  const reason = reasons.join(' ')
  if (good.length === 0) throw new RefusedDocument(`${reason} ${HELP}`)
  return { blocks: good, warnings: [`${reason} They are left out. ${HELP}`] }
}

/** Returns the most frequent damage of texts that cannot be read; null if they can be. */
export function damageOf(texts: readonly string[]): Damage | null {
  const counts: Record<Damage, number> = { unknown: 0, order: 0, encoding: 0, scripts: 0 }
  let words = 0
  for (const text of texts) {
    for (const word of text.normalize('NFC').split(/\s+/)) {
      const damage = damageOfWord(word)
      if (damage !== null) counts[damage]++
      if (damage !== null || LETTER.test(word)) words++
    }
  }
  const damaged = Object.values(counts).reduce((sum, count) => sum + count, 0)
  if (damaged === 0 || damaged <= words * MOST_DAMAGED || (damaged === 1 && words > 1)) return null
  const kinds = Object.keys(counts) as Damage[]
  return kinds.reduce((most, kind) => (counts[kind] > counts[most] ? kind : most))
}

function damageOfWord(word: string): Damage | null {
  if (word === '' || BULLET.test(word)) return null
  if (MOJIBAKE.test(word)) return 'encoding'
  if (UNKNOWN.test(word)) return 'unknown'
  let before: Place | 'start' = 'start'
  let script: number | null = null
  let changes = 0
  for (const character of word) {
    const code = character.codePointAt(0) ?? 0
    const place = placeOf(code)
    // Programs that place glyphs leave spaces before signs, which are removed later. A sign at the start of a word is
    // out of order only if it is drawn before its letter.
    const first = before === 'start' && !DRAWN_FIRST.has(code)
    if (place === 'sign' && !first && !CARRIES_SIGN.has(before)) return 'order'
    const latin = LATIN.test(character) ? 0 : null
    const own = place === 'none' || place === 'joiner' ? latin : code >> 7
    if (own !== null) {
      if (script !== null && own !== script) {
        if (own > 0 && script > 0) return 'scripts'
        changes++
      }
      script = own
    }
    before = place
  }
  // The script changes once or twice in a Latin word with a suffix in another script, or before one in brackets.
  return changes > 2 ? 'scripts' : null
}

/** Place of a character of an Indian script; `none` for any other character. */
type Place = 'letter' | 'nukta' | 'sign' | 'virama' | 'mark' | 'joiner' | 'none'

const CARRIES_SIGN: ReadonlySet<Place | 'start'> = new Set<Place>(['letter', 'nukta', 'joiner'])

/** Classifies a character by its place in its block; the blocks from U+0900 to U+0D7F are alike (ISCII). */
function placeOf(code: number): Place {
  if (code === 0x200c || code === 0x200d || code === 0x25cc) return 'joiner'
  if (code < 0x0900 || code > 0x0d7f || code === 0x0964 || code === 0x0965) return 'none'
  const at = code & 0x7f
  if (at <= 0x03) return 'mark'
  if (at === 0x3c) return 'nukta'
  if (at >= 0x3e && at <= 0x4c) return 'sign'
  if (at === 0x4d) return 'virama'
  return LETTER_OF_BLOCK.test(String.fromCodePoint(code)) ? 'letter' : 'mark'
}
const LETTER_OF_BLOCK = /\p{L}/u

/** Signs that are drawn to the left of their letter: of Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Malayalam. */
const DRAWN_FIRST = new Set([
  0x093f, 0x09bf, 0x09c7, 0x09c8, 0x0a3f, 0x0abf, 0x0b47, 0x0bc6, 0x0bc7, 0x0bc8, 0x0d46, 0x0d47, 0x0d48,
])

/** Removes unreadable characters from a readable text. */
function cleaned(block: TextBlock): TextBlock {
  return UNKNOWN.test(block.text) ? { ...block, text: block.text.replace(ALL_UNKNOWN, '').trim() } : block
}

/** Names pages in words: `page 2`, `pages 2, 5 and 7 to 9`. */
export function pagesText(pages: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const page of pages) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === page - 1) last[1] = page
    else ranges.push([page, page])
  }
  const named = ranges
    .slice(0, MAX_RANGES)
    .map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`))
  if (ranges.length > MAX_RANGES) named.push('more')
  const last = named.pop() ?? ''
  const list = named.length === 0 ? last : `${named.join(', ')} and ${last}`
  return `${pages.length === 1 ? 'page' : 'pages'} ${list}`
}
