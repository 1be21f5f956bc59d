import type { LanguageData } from './language-data.js'
import { plainWords } from './plain-words.js'
import { anyPattern, wordSet } from './word-list.js'

/*
 * Interprets the parties of a transfer, in all languages: the person to whom a caller is presented, and the caller
 * who waits.
 */

const YES = wordSet(({ personAnswer }) => personAnswer.yes)
const NO = wordSet(({ personAnswer }) => personAnswer.no)
const BESIDE = wordSet(({ personAnswer }) => personAnswer.beside)
const CONNECTS = pattern(({ personAnswer }) => personAnswer.connects)
const REFUSES = pattern(({ personAnswer }) => personAnswer.refuses)
const RETURNS = pattern(({ returnRequest }) => returnRequest)
/** A longer answer is a story or a recorded greeting. */
const MAX_ANSWER_WORDS = 12
const MAX_RETURN_WORDS = 25

/**
 * Returns whether a person takes a call or declines it. Null when the words are neither, for example a question: only a
 * clear answer connects a caller.
 */
export function personAnswer(text: string): 'accepts' | 'declines' | null {
  const words = plainWords(text.normalize('NFC'))
  if (words.length === 0 || words.length > MAX_ANSWER_WORDS || text.includes('?')) return null
  const plain = normalised(text)
  if (REFUSES.test(plain)) return 'declines'
  const short = words.every((word) => YES.has(word) || NO.has(word) || BESIDE.has(word))
  const denies = words.some((word) => NO.has(word))
  if (short && denies) return 'declines'
  if (denies) return null
  return (short && words.some((word) => YES.has(word))) || CONNECTS.test(plain) ? 'accepts' : null
}

/** Returns whether a caller who waits for a person wants the agent back. */
export function asksToReturn(text: string): boolean {
  return text
    .split(/[.!?।॥\n]+/u)
    .map(normalised)
    .some((sentence) => sentence.split(' ').length <= MAX_RETURN_WORDS && RETURNS.test(sentence))
}

function pattern(list: (data: LanguageData) => readonly string[]): RegExp {
  return anyPattern(list, 'iu')
}

function normalised(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[.,;:!?।॥"]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
