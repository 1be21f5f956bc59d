/** A heading, a paragraph, a row or a line of a document, in reading order. */
export interface TextBlock {
  readonly text: string
  /** Level of a heading, 1 to 6. Null for anything else. */
  readonly level: number | null
  /** Page, from 1. Null when the format has no pages. */
  readonly page: number | null
}
