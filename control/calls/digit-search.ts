/** Minimum number of digits of a search. Fewer would match half the table. */
export const SEARCH_MIN_DIGITS = 3

/** Returns the digits of a call search without formatting, or null when there are too few. */
export function searchDigits(text: string): string | null {
  const digits = text.replace(/\D/g, '')
  return digits.length >= SEARCH_MIN_DIGITS ? digits : null
}
