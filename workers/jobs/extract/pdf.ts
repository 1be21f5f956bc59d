import type { PDFPageProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'
import type { TextBlock } from '../../../media/knowledge/text-blocks.js'
import { CharacterCount, MAX_PAGES, RefusedDocument } from './refused-document.js'

/** Fonts that draw Devanagari for Latin letters. Their text is no text. */
const LEGACY_FONTS = /kruti ?dev|shusha|chanakya|devlys|walkman|aps-?dv|shree-?dev/i
/** Pages whose fonts are looked at. */
const FONT_PAGES = 3
/** Characters per page below which a document counts as scanned. */
const SCANNED = 10

const DAMAGED = 'The file is damaged, or it is not a PDF document. Save it again as PDF.'

/** Returns the text of a PDF document by the values of its glyphs, one block per page. Throws `RefusedDocument`. */
export async function pdfBlocks(bytes: Uint8Array): Promise<TextBlock[]> {
  const { getDocument } = await library()
  const loading = getDocument({
    data: Uint8Array.from(bytes),
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    useWasm: false,
    stopAtErrors: false,
    verbosity: 0,
  })
  try {
    const document = await loading.promise
    if (document.numPages > MAX_PAGES) {
      throw new RefusedDocument(
        `The document has ${document.numPages} pages; ${MAX_PAGES} are allowed. Split it.`,
      )
    }
    const blocks: TextBlock[] = []
    const count = new CharacterCount()
    let characters = 0
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      let text = ''
      const fonts = new Set<string>()
      for (const item of items) {
        if (!('str' in item)) continue
        text += item.str + (item.hasEOL ? '\n' : '')
        fonts.add(item.fontName)
      }
      if (number <= FONT_PAGES && (await usesLegacyFont(page, fonts))) {
        throw new RefusedDocument(
          'The document uses a font from before Unicode (such as Kruti Dev), so that its text cannot be read. Convert it to Unicode first.',
        )
      }
      page.cleanup()
      count.add(text)
      const written = text.trim()
      characters += written.length
      if (written !== '') blocks.push({ text: written, level: null, page: number })
    }
    if (characters < SCANNED * Math.min(document.numPages, SCANNED)) {
      throw new RefusedDocument(
        'The document contains no text: its pages are pictures. Upload a version with text.',
      )
    }
    return blocks
  } catch (error) {
    if (error instanceof RefusedDocument) throw error
    if (error instanceof Error && error.name === 'PasswordException') {
      throw new RefusedDocument(
        'The document is protected by a password. Remove it and upload the file again.',
      )
    }
    throw new RefusedDocument(DAMAGED)
  } finally {
    await loading.destroy()
  }
}

/**
 * Removes the spaces that positioned glyphs of Indian scripts leave inside words: before a dependent sign and after
 * a virama.
 */
export function rejoined(text: string): string {
  const joined: string[] = []
  /** The end of the text so far, long enough for a letter with its signs. */
  let end = ''
  for (const [at, part] of text.split(' ').entries()) {
    const glue = at === 0 || continuesWord(end, part) ? '' : ' '
    joined.push(glue, part)
    end = `${end.slice(-SYLLABLE)}${glue}${part.slice(-SYLLABLE)}`
  }
  return joined.join('')
}

/** Maximum length (UTF-16 units) of a letter with its signs. */
const SYLLABLE = 16
const SIGN = /^\p{M}/u
const LETTER = /^\p{L}/u
/** Ends of texts, which are at most three times `SYLLABLE` long. */
const LETTER_WITH_SIGNS = /\p{L}\p{M}{0,8}$/u
const VIRAMA = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0c4d\u0ccd\u0d4d]$/u

function continuesWord(end: string, part: string): boolean {
  return SIGN.test(part) ? LETTER_WITH_SIGNS.test(end) : LETTER.test(part) && VIRAMA.test(end)
}

async function usesLegacyFont(page: PDFPageProxy, fonts: ReadonlySet<string>): Promise<boolean> {
  // Fonts are loaded with the drawing operators.
  await page.getOperatorList()
  for (const id of fonts) {
    if (!page.commonObjs.has(id)) continue
    const font: { readonly name?: string } = page.commonObjs.get(id)
    if (LEGACY_FONTS.test(font.name ?? '')) return true
  }
  return false
}

/**
 * Loads the library. It expects classes of a browser that only drawing needs; here they have no members, and nothing
 * is drawn.
 */
async function library(): Promise<typeof import('pdfjs-dist/legacy/build/pdf.mjs')> {
  for (const name of ['DOMMatrix', 'ImageData', 'Path2D']) {
    if (!(name in globalThis)) Reflect.set(globalThis, name, class {})
  }
  return import('pdfjs-dist/legacy/build/pdf.mjs')
}
