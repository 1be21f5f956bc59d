import type { LanguageData } from './language-data.js'
import { plainWords } from './plain-words.js'
import { anyPattern, WordList, wordSet } from './word-list.js'

/* Judges from the words whether a caller who fell silent has finished. */

/** Normalises words. Unicode writes some letters in two ways, so they are composed first. */
function wordsOf(text: string): string[] {
  return plainWords(text.normalize('NFC'))
}

const CONTINUES = new WordList(({ continues }) => continues, wordsOf)
const FILLERS = wordSet(({ fillers }) => fillers, wordsOf)
const DIGITS = new WordList(({ digits }) => digits, wordsOf)
const DOUBLE = wordSet(({ double }) => double, wordsOf)
const TRIPLE = wordSet(({ triple }) => triple, wordsOf)
const LETTERS = wordSet(({ letters }) => letters, wordsOf)
const EMAIL = anyPattern(({ email }) => email.announced, 'i')
const EMAIL_AT = wordSet(({ email }) => email.at, wordsOf)
const EMAIL_CONTINUES = wordSet(({ email }) => email.continues, wordsOf)
const ASKS_FOR_MORE = anyPattern(({ asksForMore }) => asksForMore)
const TIME_OR_AMOUNT = anyPattern(({ timeOrAmount }) => timeOrAmount, 'i')
/** The length of a number that a question states: "your 10-digit number". */
const STATED_LENGTH = new RegExp(
  `(?<!\\d)(\\d{1,2})[\\s-]{0,4}(?:${anyPattern(({ numbers }) => numbers.digit).source})`,
  'i',
)
const OTHER_NUMBER = anyPattern(({ numbers }) => numbers.other, 'i')

const MY_NUMBER = anyPattern(({ numbers }) => numbers.mine, 'i')
const PHONE_LENGTHS: ReadonlySet<number> = new Set([10, 12])

/** Lengths of the numbers of payment cards. Most have 16 digits, ISO/IEC 7812 permits 19. */
const CARD_LENGTHS: ReadonlySet<number> = new Set([13, 14, 15, 16, 17, 18, 19])

const CODE = numberPattern('code')
const CODE_LENGTHS: ReadonlySet<number> = new Set([4, 6])

/** Announced kinds of numbers, and how many digits each has. An Aadhaar card has the number of the Aadhaar. */
const NUMBERS: readonly (readonly [RegExp, ReadonlySet<number>])[] = [
  [numberPattern('aadhaar'), new Set([12])],
  [numberPattern('card'), CARD_LENGTHS],
  [CODE, CODE_LENGTHS],
  [numberPattern('phone'), PHONE_LENGTHS],
]

function numberPattern(kind: keyof LanguageData['numbers']): RegExp {
  return anyPattern(({ numbers }) => numbers[kind], 'i')
}

/** Likelihood that the caller goes on. */
export type Openness = 'closed' | 'open' | 'spelling'

/** Lengths at which a number said digit by digit may be complete: PIN, pincode, mobile number, card. */
const COMPLETE_DIGITS: ReadonlySet<number> = new Set([4, 6, 10, 12, 16, 17, 18])
const MIN_DIGITS = 2
const MAX_DIGITS = 19
/** Words after "at" within which an address ends. */
const ADDRESS_WORDS = 6

/**
 * Returns `spelling` within a number, a spelled word or an address, `open` when the last words require
 * another one, and `closed` for questions, statements and sentences with a full stop. `language` is the
 * call's, null when unknown. `asked` is the question that the caller answers: a number of a known length is
 * incomplete until it has that length.
 */
export function openness(text: string, language: string | null = null, asked = ''): Openness {
  const trimmed = text.trim()
  if (trimmed === '') return 'closed'
  const words = wordsOf(trimmed)
  if (inNumber(trimmed, words, language, asked) || inAddress(trimmed, words) || inLetters(words))
    return 'spelling'
  if (/[?？]["'”’)]*$/.test(trimmed)) return 'closed'
  if (/(\.\.\.|…|,|-|–|—)$/.test(trimmed)) return 'open'
  const last = words.at(-1)
  if (last === undefined) return 'closed'
  // A recogniser's full stop after "and" ends nothing.
  if (CONTINUES.has(last, language) || FILLERS.has(last)) return 'open'
  return ASKS_FOR_MORE.test(
    trimmed
      .toLowerCase()
      .replace(/[.।\s]{1,40}$/, '')
      .replaceAll('’', "'"),
  )
    ? 'open'
    : 'closed'
}

/** Returns whether the keys are a part of the number that the agent asked for. */
export function awaitsKeys(keys: string, asked: string): boolean {
  const lengths = lengthsAsked(asked)
  return lengths !== null && /^\d+$/.test(keys) && isPart(keys.length, lengths)
}

/** Returns whether the agent asked for a number of a known length. */
export function asksForNumber(asked: string): boolean {
  return lengthsAsked(asked) !== null
}

/** Returns the lengths of the number that the agent asked for, or null. */
function lengthsAsked(asked: string): ReadonlySet<number> | null {
  const stated = Number(STATED_LENGTH.exec(asked.normalize('NFC'))?.[1] ?? 0)
  return stated >= MIN_DIGITS && stated <= MAX_DIGITS ? new Set([stated]) : lengthsNamed(asked)
}

/** Returns the lengths of the kind of number that a text names, or null. */
function lengthsNamed(text: string): ReadonlySet<number> | null {
  const composed = text.normalize('NFC')
  const lengths = NUMBERS.find(([pattern]) => pattern.test(composed))?.[1] ?? null
  // "The OTP for your card" names a code, "your card number and the PIN" begins with the number of the card.
  const ofCard = lengths === CARD_LENGTHS && CODE.test(composed) && !OTHER_NUMBER.test(composed)
  return ofCard ? CODE_LENGTHS : lengths
}

/** Returns the lengths of the number that the caller names, or null. `asked` is the question. */
function lengthsSaid(text: string, asked: string): ReadonlySet<number> | null {
  const named = lengthsNamed(text)
  if (named !== null || !MY_NUMBER.test(text.normalize('NFC'))) return named
  return OTHER_NUMBER.test(asked.normalize('NFC')) ? null : PHONE_LENGTHS
}

function isPart(digits: number, lengths: ReadonlySet<number>): boolean {
  return !lengths.has(digits) && digits < Math.max(...lengths)
}

function inNumber(text: string, words: readonly string[], language: string | null, asked: string): boolean {
  let digits = 0
  let from = words.length
  let repeat = 0
  for (let i = words.length - 1; i >= 0; i--) {
    const word = words[i] as string
    const times = DOUBLE.has(word) ? 1 : TRIPLE.has(word) ? 2 : undefined
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
  const named = lengthsSaid(text, asked)
  if (named !== null) return isPart(digits, named)
  const before = words.slice(0, from).join(' ')
  // Times and amounts ("at 5 30", "for 250") are not spelled.
  if (TIME_OR_AMOUNT.test(before)) return false
  const wanted = lengthsAsked(asked)
  if (wanted !== null) return isPart(digits, wanted)
  if (COMPLETE_DIGITS.has(digits)) return false
  // A single numeral is an ordinary number, unless the words announce one.
  return words.length - from > 1 || (before === '' ? digits > 2 : OTHER_NUMBER.test(before))
}

/** Returns whether an address is unfinished: "anita at", "a dot rao at gmail". */
function inAddress(text: string, words: readonly string[]): boolean {
  if (/@[\w-]{0,63}\.?$/.test(text)) return true
  const last = words.at(-1) ?? ''
  const tail = words.slice(-ADDRESS_WORDS)
  if (!EMAIL_CONTINUES.has(last)) return false
  return tail.some((word) => EMAIL_AT.has(word)) || EMAIL.test(text) || last === 'underscore'
}

function inLetters(words: readonly string[]): boolean {
  const [before = '', last = ''] = words.slice(-2)
  // "I" and "a" are words. Two letters in a row are spelling.
  return LETTERS.has(last) && LETTERS.has(before) && !(before === 'i' && last === 'a')
}
