import {
  ADDRESS,
  ADDRESS_AT,
  ADDRESS_GOES_ON,
  ANY_NUMBER,
  ASKS_FOR_MORE,
  CONTINUES,
  DIGITS,
  FILLERS,
  LETTERS,
  NUMBERS,
  REPEATS,
  TIME_OR_AMOUNT,
  wordsOf,
} from './completeness-words.js'

/* Judges from the words whether a caller who fell silent has finished. */

/** Likelihood that the caller goes on. */
export type Openness = 'closed' | 'open' | 'spelling'

/** Lengths at which a number said digit by digit may be complete: PIN, pincode, mobile number, card. */
const COMPLETE_DIGITS: ReadonlySet<number> = new Set([4, 6, 10, 12, 16])
const MIN_DIGITS = 2
const MAX_DIGITS = 16
/** Words after "at" within which an address ends. */
const ADDRESS_WORDS = 6

/**
 * Returns `spelling` within a number, a spelled word or an address, `open` when the last words require
 * another one, and `closed` for questions, statements and sentences with a full stop. `language` is the
 * call's, null when unknown.
 */
export function openness(text: string, language: string | null = null): Openness {
  const trimmed = text.trim()
  if (trimmed === '') return 'closed'
  const words = wordsOf(trimmed)
  if (inNumber(trimmed, words, language) || inAddress(trimmed, words) || inLetters(words)) return 'spelling'
  if (/[?？]["'”’)]*$/.test(trimmed)) return 'closed'
  if (/(\.\.\.|…|,|-|–|—)$/.test(trimmed)) return 'open'
  const last = words.at(-1)
  if (last === undefined) return 'closed'
  // A recogniser's full stop after "and" ends nothing.
  if (CONTINUES.has(last, language) || FILLERS.has(last, language)) return 'open'
  return ASKS_FOR_MORE.test(
    trimmed
      .toLowerCase()
      .replace(/[.।\s]+$/, '')
      .replaceAll('’', "'"),
  )
    ? 'open'
    : 'closed'
}

function inNumber(text: string, words: readonly string[], language: string | null): boolean {
  let digits = 0
  let from = words.length
  let repeat = 0
  for (let i = words.length - 1; i >= 0; i--) {
    const word = words[i] as string
    const times = REPEATS.get(word)
    if (times !== undefined) {
      // "Double" without a digit waits for it. Before a digit it adds one more.
      if (digits === 0) repeat = times
      digits += times
    } else if (/^\p{Nd}+$/u.test(word)) digits += word.length
    else if (DIGITS.has(word, language)) digits += 1
    else break
    from = i
  }
  if (repeat > 0) return true
  if (digits < MIN_DIGITS || digits >= MAX_DIGITS) return false
  const kind = NUMBERS.find(([pattern]) => pattern.test(text))?.[1] ?? null
  if (kind !== null) return !kind.has(digits) && digits < Math.max(...kind)
  if (COMPLETE_DIGITS.has(digits)) return false
  const before = words.slice(0, from).join(' ')
  // Times and amounts ("at 5 30", "for 250") are not spelled.
  if (TIME_OR_AMOUNT.test(before)) return false
  // A single numeral is an ordinary number, unless the words announce one.
  return words.length - from > 1 || (before === '' ? digits > 2 : ANY_NUMBER.test(before))
}

/** Returns whether an address is unfinished: "anita at", "a dot rao at gmail". */
function inAddress(text: string, words: readonly string[]): boolean {
  if (/@[\w-]*\.?$/.test(text)) return true
  const last = words.at(-1) ?? ''
  const tail = words.slice(-ADDRESS_WORDS)
  if (!ADDRESS_GOES_ON.has(last)) return false
  return tail.some((word) => ADDRESS_AT.has(word)) || ADDRESS.test(text) || last === 'underscore'
}

function inLetters(words: readonly string[]): boolean {
  const [before = '', last = ''] = words.slice(-2)
  // "I" and "a" are words. Two letters in a row are spelling.
  return LETTERS.has(last) && LETTERS.has(before) && !(before === 'i' && last === 'a')
}
