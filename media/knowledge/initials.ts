import { FUNCTION_WORDS } from './function-words.js'

/** Words of an abbreviation. */
const [FEWEST, MOST] = [2, 4]

/** Returns the term of an index for the initials of words that follow each other. No word has its form. */
export function initialsTerm(letters: string): string {
  return `=${letters}`
}

/**
 * Returns the initials for which a title or a text may be known, as terms: `no claim bonus` is `=ncb`. Those of a text have
 * three words or more, none of them a function word.
 */
export function initialsOf(title: readonly string[], text: readonly string[]): string[] {
  return [...runsOf(title, FEWEST, true), ...runsOf(text, 3, false)]
}

function runsOf(words: readonly string[], fewest: number, isTitle: boolean): string[] {
  const found: string[] = []
  for (let from = 0; from < words.length; from++) {
    let letters = ''
    for (let at = from; at < words.length && letters.length < MOST; at++) {
      const word = words[at] ?? ''
      if (!/^[a-z]{2,}$/.test(word) || (!isTitle && FUNCTION_WORDS.has(word))) break
      letters += word[0]
      if (letters.length >= fewest) found.push(initialsTerm(letters))
    }
  }
  return found
}
