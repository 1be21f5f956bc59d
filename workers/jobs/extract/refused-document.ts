/** A document that cannot be used. The message is for the person who uploaded it. */
export class RefusedDocument extends Error {}

/** Limits of one document. */
export const MAX_PAGES = 10_000
export const MAX_CHARACTERS = 20_000_000

/** Counts the text of a document. */
export class CharacterCount {
  #characters = 0

  /** Throws `RefusedDocument` when the document has more text than allowed. */
  add(text: string): void {
    this.#characters += text.length
    if (this.#characters > MAX_CHARACTERS) {
      throw new RefusedDocument(
        `The document has more than ${MAX_CHARACTERS / 1_000_000} million characters. Split it.`,
      )
    }
  }
}
