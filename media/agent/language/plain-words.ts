/**
 * Returns the words of a late final text beyond those already answered. Returns an empty text when both are
 * different recognitions of the same utterance.
 */
export function remainder(answered: string, final: string): string {
  const before = plainWords(answered)
  const words = final.split(/\s+/).filter((word) => word !== '')
  if (words.length <= before.length) return ''
  for (const [index, word] of before.entries()) {
    if (plain(words[index] ?? '') !== word) return ''
  }
  return words.slice(before.length).join(' ')
}

/** Reduces a text to lower-case letters, marks and digits, to compare recognitions. */
export function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
}

export function plainWords(text: string): string[] {
  return text
    .split(/[\s\-–—]+/)
    .map(plain)
    .filter((word) => word !== '')
}
