/** A document of pages A4. All texts may mix the scripts of `faces.ts`. */
export interface PdfDocument {
  readonly title: string
  /** Unix ms. The same document with the same time gives the same bytes. */
  readonly createdAt: number
  /** Text at the bottom of each page, before the page number. */
  readonly footer: string
  /** Size of the text in points; headings are 1.3 times as large. Default: 10. */
  readonly textSize?: number
  readonly blocks: readonly PdfBlock[]
}

export type PdfBlock =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  /** Pairs of a name and a value. */
  | { readonly kind: 'facts'; readonly rows: readonly (readonly [name: string, value: string])[] }
  /** A table whose header is repeated on each page. */
  | {
      readonly kind: 'table'
      readonly columns: readonly PdfColumn[]
      readonly rows: readonly (readonly string[])[]
    }
  /** A QR code of a text of up to 2,953 bytes. The side includes the quiet zone (points). */
  | { readonly kind: 'qr'; readonly text: string; readonly side: number }

export interface PdfColumn {
  readonly title: string
  /** Part of the width, relative to the other columns. */
  readonly share: number
  /** Default: left. */
  readonly align?: 'right'
}

/** Maximum number of characters of a document. */
export const MAX_CHARACTERS = 200_000

/** Returns the number of characters (UTF-16) of a document. */
export function charactersOf({ title, footer, blocks }: PdfDocument): number {
  let sum = title.length + footer.length
  for (const block of blocks) {
    if ('text' in block) sum += block.text.length
    else sum += block.rows.flat().reduce((length, text) => length + text.length, 0)
    if (block.kind === 'table') sum += block.columns.reduce((length, { title }) => length + title.length, 0)
  }
  return sum
}
