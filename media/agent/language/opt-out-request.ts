import { anyPattern, PhraseList, wordsInLowerCase } from './word-list.js'

/*
 * Recognises the wish of a caller not to be called again, in all languages. A wish for now only ("do not call me
 * today") is none.
 */

const REQUESTS = anyPattern(({ optOut }) => optOut.requests, 'iu')
const NOT_NOW = anyPattern(({ optOut }) => optOut.notNow, 'iu')
const COURTESY = new PhraseList(({ optOut }) => optOut.courtesy)
const CLAUSES = /[,.;:!?।॥\n]/u
/** Maximum number of clauses of a turn that are read, from its end. */
const MAX_CLAUSES = 500
/** Malayalam letters that texts also write as a consonant with a virama and a joiner. */
const CHILLU: Readonly<Record<string, string>> = { ണ: 'ൺ', ന: 'ൻ', ര: 'ർ', ല: 'ൽ', ള: 'ൾ' }
/** Joiners and other characters without a width, which recognisers put after a virama or leave out. */
const INVISIBLE = /[\u200B-\u200D\u2060\uFEFF]/gu

/** Returns whether a text of the caller asks for no more calls. The work is linear in the length of the text. */
export function asksForNoCalls(text: string): boolean {
  return text
    .normalize('NFC')
    .replace(/([ണനരലള])\u0D4D\u200D/gu, (_, letter: string) => CHILLU[letter] ?? letter)
    .replace(INVISIBLE, '')
    .replace(/[\u2018\u2019]/g, "'")
    .split(CLAUSES)
    .slice(-MAX_CLAUSES)
    .map(withoutCourtesy)
    .some((clause) => REQUESTS.test(clause) && !NOT_NOW.test(clause))
}

/** Returns a clause without polite words at its end, with each repeated word once. */
function withoutCourtesy(clause: string): string {
  const words = wordsInLowerCase(clause).filter((word, at, all) => word !== all[at - 1])
  return words.slice(0, COURTESY.lengthWithout(words, words.length)).join(' ')
}
