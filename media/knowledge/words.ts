/*
 * Words for search, the same for documents and questions. Databases and `Intl.Segmenter` are not used: they cut
 * words of Indian scripts at vowel signs, differ between each other, or are slow on long texts.
 */

const WORD = /[\p{L}\p{M}\p{N}]+/gu
/** Joiners and the soft hyphen: invisible, and not written by everyone. */
const INVISIBLE = /[\u200b-\u200d\u2060\ufeff\u00ad]/g
/** Nukta of each script: फ़ and फ are the same letter for many writers. */
const NUKTA = /[\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc]/g
/** Candrabindu of each script, written as anusvara by many. */
const CANDRABINDU = /[\u0901\u0981\u0a81\u0b01\u0c01\u0c81\u0d01]/g
/** A number whose groups are separated by commas, in the Indian or the international way. */
const GROUPED = /(?<=\p{Nd}),(?=\p{Nd}{2,3}(?!\p{Nd}))/gu
/** A letter beside a digit: `emi2` is two words, like `5kg`. */
const LETTER_DIGIT = /(?<=[\p{L}\p{M}])(?=\p{N})|(?<=\p{N})(?=[\p{L}])/gu

/** Zero digit of each script whose digits are read as ASCII. */
const ZEROS = [0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66]

/** Longest word that is indexed. Longer ones are no words. */
const MAX_WORD = 40

/** Returns the words of a text in a common spelling: lower case, ASCII digits, without nukta and joiners. */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFC')
    .normalize('NFD')
    .replace(INVISIBLE, '')
    .replace(NUKTA, '')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(CANDRABINDU, (sign) => String.fromCharCode(sign.charCodeAt(0) + 1))
    .replace(GROUPED, '')
    .replace(/\p{Nd}/gu, asciiDigit)
    .toLowerCase()
    .replace(LETTER_DIGIT, ' ')
  return (plain.match(WORD) ?? []).map((word) => word.slice(0, MAX_WORD))
}

function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  const zero = ZEROS.find((start) => code >= start && code < start + 10)
  return zero === undefined ? digit : String(code - zero)
}

/** Returns the word without a common ending of English and Hindi, so that `loans` finds `loan`. */
export function stemOf(word: string): string {
  return /^[a-z]+$/.test(word) ? englishStem(word) : /^[\u0900-\u097f]+$/.test(word) ? hindiStem(word) : word
}

function englishStem(word: string): string {
  if (word.length <= 3) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2)
  if (word.endsWith('s') && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1)
  if (word.endsWith('ing') && word.length > 5) return undoubled(word.slice(0, -3))
  if (word.endsWith('ed') && word.length > 4) return undoubled(word.slice(0, -2))
  return word
}

/** `cancelling` and `cancel`, `paying` and `pay`; a silent e is dropped from all words alike. */
function undoubled(stem: string): string {
  return /([bdgklmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem
}

/** Plural and oblique endings of Hindi nouns, longest first. */
const HINDI_ENDINGS = ['ियों', 'ियां', 'ओं', 'ों', 'ें', 'ां', 'ी', 'े', 'ा', 'ो']

function hindiStem(word: string): string {
  const ending = HINDI_ENDINGS.find((end) => word.endsWith(end) && word.length - end.length >= 2)
  return ending === undefined ? word : word.slice(0, -ending.length)
}
