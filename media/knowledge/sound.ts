/*
 * How a word sounds, roughly: one key for किस्त, kist, kisht and qist. Nine scripts follow the layout of ISCII in
 * Unicode, so one table by offset in the block serves all of them.
 */

/** First code points of the blocks: Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam. */
const FIRST_BLOCK = 0x0900
const LAST_BLOCK = 0x0d7f
const BLOCK_MASK = 0x7f

/** Consonants by offset in the block. Aspirated and voiced ones are folded into the plain ones. */
const CONSONANTS: Readonly<Record<number, string>> = {
  ...fold('k', [0x15, 0x16, 0x17, 0x18, 0x58, 0x59, 0x5a]),
  ...fold('n', [0x19, 0x1e, 0x23, 0x28, 0x29, 0x02]),
  ...fold('s', [0x1a, 0x1b, 0x36, 0x37, 0x38]),
  ...fold('j', [0x1c, 0x1d, 0x5b]),
  ...fold('t', [0x1f, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27]),
  ...fold('p', [0x2a, 0x2b, 0x2c, 0x2d, 0x5e]),
  ...fold('m', [0x2e]),
  ...fold('y', [0x2f, 0x5f]),
  ...fold('r', [0x30, 0x31, 0x5c, 0x5d, 0x0b, 0x43]),
  ...fold('l', [0x32, 0x33, 0x34]),
  ...fold('v', [0x35]),
  ...fold('h', [0x39, 0x03]),
}
/** Vowels by offset, letters and signs. The inherent vowel is not written and has no sound here. */
const VOWELS: Readonly<Record<number, string>> = {
  ...fold('a', [0x05, 0x06, 0x3e]),
  ...fold('i', [0x07, 0x08, 0x3f, 0x40, 0x0e, 0x0f, 0x10, 0x46, 0x47, 0x48, 0x0d, 0x45]),
  ...fold('u', [0x09, 0x0a, 0x41, 0x42, 0x12, 0x13, 0x14, 0x4a, 0x4b, 0x4c, 0x11, 0x49]),
}
/** Letters outside the common layout: Malayalam chillu, Bengali khanda ta, Gurmukhi tippi and addak, Assamese ra and va. */
const OTHERS: Readonly<Record<string, string>> = {
  ൺ: 'n',
  ൻ: 'n',
  ർ: 'r',
  ൽ: 'l',
  ൾ: 'l',
  ൿ: 'k',
  ৎ: 't',
  '\u0a70': 'n',
  '\u0a71': '',
  ৰ: 'r',
  ৱ: 'v',
}

function fold(sound: string, offsets: readonly number[]): Record<number, string> {
  return Object.fromEntries(offsets.map((offset) => [offset, sound]))
}

/** Spellings in Latin letters, longest first, and their sounds. */
const LATIN: readonly (readonly [RegExp, string])[] = [
  [/tion|sion/g, 'sn'],
  [/chh|sch|sh|ch/g, 's'],
  [/ck|kh|gh|q|x(?=$)|g|c(?![eiy])/g, 'k'],
  [/x/g, 'ks'],
  [/c/g, 's'],
  [/th|dh|d/g, 't'],
  [/ph|bh|f|b/g, 'p'],
  [/jh|z/g, 'j'],
  [/w/g, 'v'],
  [/m(?=[ptk])/g, 'n'],
  [/ee|ea|ei|ai|ey|ay|y(?![aeiou])/g, 'i'],
  [/oo|ou|au|ow|oa/g, 'u'],
  [/e/g, 'i'],
  [/o/g, 'u'],
]

/** Least consonants for which the vowels are left out. */
const SKELETON = 3

/**
 * Returns the sound of a word as `wordsOf` returns it, or null for numbers and for words that are too short to be
 * told apart by their sound.
 */
export function soundOf(word: string): string | null {
  if (/\p{N}/u.test(word)) return null
  const letters = /^[a-z]+$/.test(word) ? latin(word) : indic(word)
  if (letters === null) return null
  // Doubled sounds, h (a sign of aspiration for most writers) and a final vowel are not heard.
  const plain = letters
    .replace(/(?<=.)h/g, '')
    .replace(/(.)\1{1,60}/g, '$1')
    .replace(/(?<=.)m(?=[ptk])/g, 'n')
  const skeleton = plain.replace(/(?<=.)[aiu]/g, '').replace(/(.)\1{1,60}/g, '$1')
  const consonants = skeleton.replace(/[aiu]/g, '').length
  if (consonants >= SKELETON) return skeleton
  const short = plain
    .replace(/(?<=.)a/g, '')
    .replace(/(.)\1{1,60}/g, '$1')
    .replace(/(?<=..)[iu]$/, '')
  return short.length < 2 ? null : short
}

function latin(word: string): string {
  // The final e of English and the final a of transliterations are silent.
  let text = word.replace(/(?<=..)[ae]$/, '')
  for (const [spelling, sound] of LATIN) text = text.replace(spelling, sound)
  return text
}

function indic(word: string): string | null {
  let text = ''
  for (const letter of word) {
    const code = letter.codePointAt(0) ?? 0
    if (code < FIRST_BLOCK || code > LAST_BLOCK) return null
    const offset = code & BLOCK_MASK
    text += OTHERS[letter] ?? CONSONANTS[offset] ?? VOWELS[offset] ?? ''
  }
  return text
}

/**
 * Tells whether two sounds are almost the same: one sound more, less or different, or an ending of two sounds more. Short
 * sounds have too many neighbours.
 */
export function areAlike(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  if (short.length < SKELETON || long.length - short.length > 2) return false
  let same = 0
  while (same < short.length && short[same] === long[same]) same++
  if (same === short.length) return true
  if (short.length <= SKELETON || long.length - short.length > 1) return false
  const rest = short.slice(same + (short.length === long.length ? 1 : 0))
  return long.endsWith(rest) && rest.length >= short.length - same - 1
}
