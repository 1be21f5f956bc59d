/** Fewest digits a search needs: anything shorter matches half the table. */
export const SEARCH_MIN_DIGITS = 3

/** The digits of a call search, formatting ignored; null when there are too few. */
export function searchDigits(text: string): string | null {
  const digits = text.replace(/\D/g, '')
  return digits.length >= SEARCH_MIN_DIGITS ? digits : null
}
