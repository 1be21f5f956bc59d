import { englishStem } from './english.js'

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

const DEVANAGARI = 0x0900

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

/** Returns a word of Bengali or Tamil without its ending, of any length. Endings of Hindi are hardly heard. */
export function baseOf(word: string): string {
  const script = scriptOf(word)
  return script === undefined || script.block === DEVANAGARI ? word : withoutEnding(word, script)
}

/** Returns the stem of a word of English, Hindi, Bengali and Tamil, so that `loans` finds `loan`. */
export function stemOf(word: string): string {
  if (/^[a-z]+$/.test(word)) return englishStem(word)
  const script = scriptOf(word)
  return script === undefined ? word : withoutEnding(word, script).slice(0, script.longest)
}

function scriptOf(word: string): Script | undefined {
  const first = word.charCodeAt(0)
  return SCRIPTS.find(({ block }) => first >= block && first < block + 0x80)
}

interface Script {
  /** First code point of the Unicode block. */
  readonly block: number
  /** Endings of nouns as `wordsOf` spells them, longest first. */
  readonly endings: readonly string[]
  /** Fewest and most code units of a stem. */
  readonly shortest: number
  readonly longest: number
}

/**
 * Endings of number and case. An ending after a consonant begins with its vowel sign. Tamil joins more to a word than a
 * list can hold, so its stems are beginnings.
 */
const SCRIPTS: readonly Script[] = [
  script(DEVANAGARI, 2, MAX_WORD, 'ियों ियां ओं ों ें ां ी े ा ो'),
  script(
    0x0980,
    2,
    MAX_WORD,
    'গুলোর গুলির গুলোতে গুলিতে গুলোকে গুলিকে গুলো গুলি দেরকে দের টির টার টিতে টাতে টিকে টাকে টি টা ের েরা রা কে তে র ে য়',
  ),
  script(
    0x0b80,
    2,
    4,
    'களுக்கு களிடம் களில் களின் களால் களுடன் களையும் களும் களை கள் ' +
      'த்துக்கு த்திற்கு த்தில் த்தின் த்திலிருந்து த்தால் த்துடன் த்தையும் த்தை ம் ' +
      'ிலிருந்து ுக்கு ிற்கு க்கு ற்கு ில் ின் ிடம் ால் ுடன் ோடு ையும் ை ும் ு',
  ),
]

function script(block: number, shortest: number, longest: number, endings: string): Script {
  return { block, shortest, longest, endings: wordsOf(endings).sort((a, b) => b.length - a.length) }
}

function withoutEnding(word: string, { endings, shortest }: Script): string {
  const ending = endings.find((end) => word.endsWith(end) && word.length - end.length >= shortest)
  const stem = ending === undefined ? word : word.slice(0, -ending.length)
  // Tamil doubles a consonant before an ending: வீடு, வீட்டில்.
  return stem.replace(/([க-ஹ])\u0bcd\1$/, '$1')
}
