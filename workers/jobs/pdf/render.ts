import PDFKit from 'pdfkit'
import encodeQr from 'qr'
import { EngineError } from '../../../media/base/errors.js'
import { charactersOf, MAX_CHARACTERS, type PdfBlock, type PdfDocument } from './document.js'
import { type Face, type FaceRun, faceRuns, type Weight } from './faces.js'

/** Sizes in points (1/72 inch). A page is A4. */
const PAGE = { width: 595.28, height: 841.89, margin: 50 }
const WIDTH = PAGE.width - 2 * PAGE.margin
/** The footer stands below. */
const BOTTOM = PAGE.height - PAGE.margin - 20
const TITLE = { size: 18, weight: 700 } as const
const TEXT_SIZE = 10
const FOOTER = { size: 8, weight: 400 } as const
/** They fit into the margin. */
const FOOTER_LINES = 3
/** Marks of the Indic scripts above and below need more than the usual 1.2. */
const LINE_HEIGHT = 1.55
const BASELINE = 1.1
const COLUMN_GAP = 8
const MAX_PAGES = 500

interface Style {
  readonly size: number
  readonly weight: Weight
}

/** A word or a part of one, in the fonts that it needs. */
interface Word {
  readonly runs: readonly FaceRun[]
  readonly width: number
}

interface Line {
  readonly words: readonly Word[]
  readonly width: number
}

interface Cell {
  readonly text: string
  readonly x: number
  readonly width: number
  readonly style: Style
  readonly align?: 'right'
}

/**
 * Renders a document. Blocks the thread: use `PdfJobs`. Throws EngineError `overloaded` for a document of more
 * than 200,000 characters or 500 pages.
 */
export async function renderPdf(document: PdfDocument): Promise<Buffer> {
  if (charactersOf(document) > MAX_CHARACTERS) throw tooLong()
  const created = new Date(document.createdAt)
  const pdf = new PDFKit({
    size: [PAGE.width, PAGE.height],
    margin: 0,
    bufferPages: true,
    info: { Title: document.title, Producer: 'Parley', Creator: 'Parley', CreationDate: created },
  })
  const chunks: Buffer[] = []
  const finished = new Promise<void>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk))
    pdf.on('end', resolve)
    pdf.on('error', reject)
  })
  new Painter(pdf, document.textSize ?? TEXT_SIZE).paint(document)
  pdf.end()
  await finished
  return Buffer.concat(chunks)
}

function tooLong(): EngineError {
  return new EngineError(
    'overloaded',
    `a document has at most ${MAX_CHARACTERS} characters and ${MAX_PAGES} pages`,
  )
}

/** Places the blocks of a document from top to bottom. */
class Painter {
  readonly #pdf: PDFKit.PDFDocument
  readonly #known = new Set<string>()
  readonly #widths = new Map<string, number>()
  #y = PAGE.margin
  #pages = 1
  readonly #body: Style
  readonly #strong: Style
  readonly #heading: Style

  constructor(pdf: PDFKit.PDFDocument, textSize: number) {
    this.#pdf = pdf
    this.#body = { size: textSize, weight: 400 }
    this.#strong = { size: textSize, weight: 700 }
    this.#heading = { size: 1.3 * textSize, weight: 700 }
  }

  paint({ title, footer, blocks }: PdfDocument): void {
    this.#text(title, TITLE)
    for (const block of blocks) this.#block(block)
    for (let page = 0; page < this.#pages; page++) {
      this.#pdf.switchToPage(page)
      const y = PAGE.height - PAGE.margin
      const cell = { x: PAGE.margin, width: WIDTH - 60, style: FOOTER }
      const lines = this.#lines(footer, cell)
      // A reader of a footer that does not fit sees that something is missing.
      const fits = lines.length <= FOOTER_LINES
      const shown = fits ? lines : [...lines.slice(0, FOOTER_LINES - 1), ...this.#lines('…', cell)]
      for (const [index, line] of shown.entries()) {
        this.#line(line, cell, y + index * FOOTER.size * LINE_HEIGHT)
      }
      const number = { x: PAGE.margin, width: WIDTH, style: FOOTER, align: 'right' } as const
      for (const line of this.#lines(`${page + 1} / ${this.#pages}`, number)) this.#line(line, number, y)
    }
  }

  #block(block: PdfBlock): void {
    this.#y += this.#body.size
    switch (block.kind) {
      case 'heading':
        // A heading never stands alone at the bottom.
        this.#room(4 * this.#heading.size * LINE_HEIGHT)
        this.#text(block.text, this.#heading)
        break
      case 'paragraph':
        this.#text(block.text, this.#body)
        break
      case 'facts':
        for (const [name, value] of block.rows) {
          const left = WIDTH * 0.32
          this.#row([
            { text: name, x: PAGE.margin, width: left - COLUMN_GAP, style: this.#strong },
            { text: value, x: PAGE.margin + left, width: WIDTH - left, style: this.#body },
          ])
        }
        break
      case 'table':
        this.#table(block)
        break
      case 'qr':
        this.#qr(block)
        break
      default:
        block satisfies never
    }
  }

  /** Draws each run of dark squares of a row as one rectangle. ISO/IEC 18004 asks for a quiet zone of four squares. */
  #qr({ text, side }: PdfBlock & { readonly kind: 'qr' }): void {
    this.#room(side)
    const rows = encodeQr(text, 'raw', { ecc: 'low', border: 4 })
    const square = side / rows.length
    for (const [index, row] of rows.entries()) {
      for (let from = row.indexOf(true); from >= 0; ) {
        const light = row.indexOf(false, from)
        this.#pdf.rect(PAGE.margin + from * square, this.#y + index * square, (light - from) * square, square)
        from = row.indexOf(true, light)
      }
    }
    this.#pdf.fill('black')
    this.#y += side
  }

  #table({ columns, rows }: PdfBlock & { readonly kind: 'table' }): void {
    const shares = columns.reduce((sum, { share }) => sum + share, 0)
    const cells = (texts: readonly string[], style: Style): Cell[] => {
      let x = PAGE.margin
      return columns.map(({ share, align }, index) => {
        const width = (WIDTH * share) / shares
        const cell = { text: texts[index] ?? '', x, width: width - COLUMN_GAP, style }
        x += width
        return align === undefined ? cell : { ...cell, align }
      })
    }
    const header = (): void => {
      this.#row(
        cells(
          columns.map(({ title }) => title),
          this.#strong,
        ),
      )
      this.#pdf
        .moveTo(PAGE.margin, this.#y)
        .lineTo(PAGE.margin + WIDTH, this.#y)
        .lineWidth(0.5)
        .stroke()
      this.#y += 3
    }
    this.#room(3 * this.#body.size * LINE_HEIGHT)
    header()
    for (const row of rows) this.#row(cells(row, this.#body), header)
  }

  /** Draws cells side by side. A row that does not fit goes on at the next page, below the header. */
  #row(cells: readonly Cell[], header?: () => void): void {
    const columns = cells.map((cell) => ({ cell, lines: this.#lines(cell.text, cell) }))
    const height = Math.max(...cells.map(({ style }) => style.size)) * LINE_HEIGHT
    const count = Math.max(...columns.map(({ lines }) => lines.length))
    for (let index = 0; index < count; index++) {
      if (this.#room(height)) header?.()
      for (const { cell, lines } of columns) {
        const line = lines[index]
        if (line !== undefined) this.#line(line, cell, this.#y)
      }
      this.#y += height
    }
  }

  #text(text: string, style: Style): void {
    for (const part of text.split('\n')) this.#row([{ text: part, x: PAGE.margin, width: WIDTH, style }])
  }

  /** Begins a page if the height does not fit on this one. Returns true if it did. */
  #room(height: number): boolean {
    if (this.#y + height <= BOTTOM) return false
    if (this.#pages === MAX_PAGES) throw tooLong()
    this.#pdf.addPage()
    this.#pages++
    this.#y = PAGE.margin
    return true
  }

  /** Breaks a text at spaces, and words longer than a line between graphemes. An empty text is one line. */
  #lines(text: string, { width, style }: Omit<Cell, 'text'>): readonly Line[] {
    const space = this.#word(' ', style).width
    const lines: Line[] = []
    let words: Word[] = []
    let used = 0
    const end = (): void => {
      lines.push({ words, width: used })
      words = []
      used = 0
    }
    const add = (word: Word): void => {
      const more = words.length === 0 ? 0 : space
      if (words.length > 0 && used + more + word.width > width) end()
      used += (words.length === 0 ? 0 : space) + word.width
      words.push(word)
    }
    for (const part of text.split(/\s+/u).filter((piece) => piece !== '')) {
      const word = this.#word(part, style)
      if (word.width <= width) add(word)
      else for (const piece of this.#pieces(part, width, style)) add(piece)
    }
    if (words.length > 0 || lines.length === 0) end()
    return lines
  }

  #pieces(word: string, width: number, style: Style): Word[] {
    const pieces: Word[] = []
    let piece = ''
    for (const { segment } of GRAPHEMES.segment(word)) {
      if (piece !== '' && this.#word(piece + segment, style).width > width) {
        pieces.push(this.#word(piece, style))
        piece = ''
      }
      piece += segment
    }
    return [...pieces, this.#word(piece, style)]
  }

  #word(text: string, { size, weight }: Style): Word {
    const runs = faceRuns(text, weight)
    const width = runs.reduce((sum, run) => sum + this.#width(run) * size, 0)
    return { runs, width }
  }

  /** Width of a run in em. */
  #width({ face, text }: FaceRun): number {
    const key = `${face.name} ${text}`
    const known = this.#widths.get(key)
    if (known !== undefined) return known
    const width = face.shape(text).reduce((sum, { xAdvance }) => sum + xAdvance, 0) / face.upem
    this.#widths.set(key, width)
    return width
  }

  #line(line: Line, { x, width, style, align }: Omit<Cell, 'text'>, y: number): void {
    const space = this.#word(' ', style).width
    let at = align === 'right' ? x + width - line.width : x
    for (const { runs } of line.words) {
      for (const run of runs) {
        this.#use(run.face)
        this.#pdf.fontSize(style.size).text(run.text, at, y + style.size * BASELINE, LINE_OPTIONS)
        at += this.#width(run) * style.size
      }
      at += space
    }
  }

  /** Selects a font. The library shapes with its own rules; HarfBuzz knows all scripts. */
  #use(face: Face): void {
    if (!this.#known.has(face.name)) this.#pdf.registerFont(face.name, face.data)
    this.#pdf.font(face.name)
    if (this.#known.has(face.name)) return
    this.#known.add(face.name)
    const { font } = (this.#pdf as unknown as { readonly _font: { readonly font: LibraryFont } })._font
    font.layout = (text) => {
      const positions = face.shape(text).map((glyph) => ({ ...glyph }))
      return {
        glyphs: positions.map(({ id, codePoints }) => font.getGlyph(id, codePoints)),
        positions,
        advanceWidth: positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0),
      }
    }
  }
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
const LINE_OPTIONS = { lineBreak: false, baseline: 'alphabetic' } as const

/** The part of a font of fontkit that pdfkit draws with. */
interface LibraryFont {
  layout(text: string): {
    readonly glyphs: readonly unknown[]
    readonly positions: readonly object[]
    readonly advanceWidth: number
  }
  getGlyph(id: number, codePoints: readonly number[]): unknown
}
