import { FUNCTION_WORDS } from './function-words.js'
import { digitOf } from './numbers.js'
import { wordsOf } from './words.js'

/*
 * Letters and digits that are said one by one: `a b one two` is `ab 12`, and यूपीआई is `upi`.
 */

/** First code point of Devanagari and of the block after Malayalam. */
const [FIRST, LAST] = [0x0900, 0x0d80]
const LONG: Readonly<Record<string, string>> = {
  ई: 'इ',
  'ी': 'ि',
  ऊ: 'उ',
  'ू': 'ु',
  ऎ: 'ए',
  'ॆ': 'े',
  ऒ: 'ओ',
  'ॊ': 'ो',
}

/** Names of the English letters as they are written in Latin letters, where they are no words of their own. */
const LATIN_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{
      b: 'bee',
      c: 'cee',
      d: 'dee',
      f: 'eff ef',
      g: 'gee',
      h: 'aitch',
      j: 'jay',
      k: 'kay',
      l: 'el ell',
      m: 'em',
    },
    ...{ n: 'en', p: 'pee', q: 'cue queue', r: 'ar', s: 'es ess', t: 'tee', v: 'vee', x: 'ex', z: 'zed zee' },
  }).flatMap(([letter, names]) => names.split(' ').map((name) => [name, letter] as const)),
)
/** The same in Devanagari; the other scripts follow its layout. Tamil has one letter for b and p, and for d and t. */
const INDIC_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{
      a: 'ए',
      b: 'बी',
      c: 'सी ची',
      d: 'डी',
      e: 'ई',
      f: 'एफ एःप',
      g: 'जी',
      h: 'एच एइच हेच',
      i: 'आई आइ ऐ',
      j: 'जे',
      k: 'के',
    },
    ...{
      l: 'एल',
      m: 'एम',
      n: 'एन',
      o: 'ओ',
      p: 'पी',
      q: 'क्यू किउ',
      r: 'आर',
      s: 'एस',
      t: 'टी',
      u: 'यू इउ',
      v: 'वी भी',
    },
    ...{ w: 'डब्ल्यू डबल्यू डब्लिउ टपिळ्यू', x: 'एक्स', y: 'वाई वाय ओयाइ ओय', z: 'ज़ेड इचट' },
  }).flatMap(([letter, names]) => wordsOf(names).map((name) => [plainIndic(name), letter] as const)),
)
const LONGEST_NAME = Math.max(...[...INDIC_NAMES.keys()].map(({ length }) => length))
/** More than the words of letters and digits have. */
const LONGEST_SIGN = 12
const JOINERS = new Set(['dash', 'hyphen', 'slash'])
const REPEATS: Readonly<Record<string, number>> = { double: 2, triple: 3 }
const MAX_READINGS = 8
const TAMIL = /^[\u0b80-\u0bff]/

/** Returns a word of an Indian script in Devanagari with short vowels and without signs between consonants. */
function plainIndic(word: string): string {
  let plain = ''
  for (const letter of word) {
    const code = letter.codePointAt(0) ?? 0
    if (code < FIRST || code >= LAST) return ''
    const devanagari = String.fromCharCode(FIRST + (code & 0x7f))
    if (devanagari !== '\u094d') plain += LONG[devanagari] ?? devanagari
  }
  return plain
}

/** Returns how a word of an Indian script reads as names of at least two English letters: `upi` for यूपीआई. */
export function lettersOf(word: string): readonly string[] {
  const plain = plainIndic(word)
  const letters = plain === '' ? null : readLetters(plain)
  if (letters === null || letters.length < 2) return []
  if (!TAMIL.test(word)) return [letters]
  let readings = ['']
  for (const letter of letters) {
    const meant = { p: ['p', 'b'], t: ['t', 'd'] }[letter] ?? [letter]
    readings = readings.flatMap((start) => meant.map((one) => start + one)).slice(0, MAX_READINGS)
  }
  return readings
}

/** Returns the letters whose names follow each other, or null when a part of the word is no name. */
function readLetters(plain: string): string | null {
  if (plain === '') return ''
  for (let length = Math.min(LONGEST_NAME, plain.length); length > 0; length--) {
    const letter = INDIC_NAMES.get(plain.slice(0, length))
    const rest = letter === undefined ? null : readLetters(plain.slice(length))
    if (rest !== null) return letter + rest
  }
  return null
}

/** A run of words that spell something, and what they spell: letters and digits apart. */
export interface Spelt {
  readonly from: number
  readonly length: number
  readonly parts: readonly string[]
  /** True when each word of the run is a single letter or digit. */
  readonly single: boolean
}

/** Returns the runs of at least two letters, digits, or groups of digits. */
export function speltIn(words: readonly string[]): Spelt[] {
  const found: Spelt[] = []
  for (let at = 0; at < words.length; ) {
    const run = runAt(words, at)
    if (run !== null) found.push(run)
    at += run?.length ?? 1
  }
  return found
}

function runAt(words: readonly string[], from: number): Spelt | null {
  const signs: string[] = []
  let at = from
  let single = true
  for (let repeat = 1; at < words.length; at++) {
    const word = words[at] ?? ''
    if (JOINERS.has(word) && signs.length > 0) continue
    const times = REPEATS[word]
    if (times !== undefined) {
      repeat = times
      continue
    }
    const sign = signOf(word)
    if (sign === null) break
    if (sign.length > 1) single = false
    signs.push(sign.repeat(repeat))
    repeat = 1
  }
  if (signs.length < 2) return null
  const parts = signs.join('').match(/[a-z]+|\d+/g) ?? []
  return { from, length: at - from, parts, single }
}

/** Returns the letter or the digits that a word says, or null. */
function signOf(word: string): string | null {
  if (/^(?:[a-z]|\d+)$/.test(word)) return word
  if (word.length > LONGEST_SIGN) return null
  if (FUNCTION_WORDS.has(word)) return null
  const plain = plainIndic(word)
  return digitOf(word) ?? LATIN_NAMES.get(word) ?? (plain === '' ? null : (INDIC_NAMES.get(plain) ?? null))
}
