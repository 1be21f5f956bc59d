/**
 * A recogniser was too late and its partial text was answered; now the final one comes. What is left
 * of it beyond the words already answered; nothing when it is the same utterance heard differently.
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

/** Lower case, letters, marks and digits only: how two recognitions of one thing are compared. */
export function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
}

export function plainWords(text: string): string[] {
  return text
    .split(/[\s\-–—]+/)
    .map(plain)
    .filter((word) => word !== '')
}
