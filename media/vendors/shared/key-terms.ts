/** Returns the first terms that fit a vendor's limits: their number, and the characters of each. */
export function termsWithin(
  vocabulary: readonly string[],
  { terms, characters }: { readonly terms: number; readonly characters: number },
): readonly string[] {
  return vocabulary.filter((term) => [...term].length <= characters).slice(0, terms)
}
