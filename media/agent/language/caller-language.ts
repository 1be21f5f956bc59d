import { wordsByLanguage } from './language-data.js'
import { requestedLanguage } from './language-request.js'
import { plainWords } from './plain-words.js'
import { wordSet } from './word-list.js'

/*
 * Chooses the language of a call from the caller's turns. Pure. Indian callers mix languages: an English word
 * in a Hindi sentence counts as Hindi, and "okay" counts as nothing.
 */

const SHARED = wordSet(({ sharedWords }) => sharedWords)
const LATIN = setsOf(wordsByLanguage(({ ownWords }) => ownWords.latin))
const NATIVE = setsOf(wordsByLanguage(({ ownWords }) => ownWords.native))

function setsOf(lists: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map([...lists].map(([tag, words]) => [tag, new Set(plainWords(words.join(' ')))]))
}

/** Returns the languages that have the word as their own. */
function ownersOf(
  word: string,
  sets: ReadonlyMap<string, ReadonlySet<string>>,
  languages: readonly string[],
): readonly string[] {
  return languages.filter((tag) => sets.get(tag)?.has(word) === true)
}

export interface LanguageState {
  readonly current: string
  /** The caller has used the current language. Leaving it then needs more evidence. */
  readonly settled: boolean
  /** Language of the latest turns when it is not the current one, and the number of such turns in a row. */
  readonly candidate: string | null
  readonly turns: number
}

export interface SpokenTurn {
  readonly text: string
  /** Language tag that the recogniser detected. Null when it reports none. */
  readonly detected: string | null
  /** The text is a translation, so its script proves nothing. */
  readonly translated: boolean
}

/**
 * Words that switch the language at once. Fewer suffice when the recogniser agrees or no language is settled.
 */
const ENOUGH_WORDS = 4
const ENOUGH_DETECTED = 3
const ENOUGH_AT_FIRST = 2
/** Consecutive turns that switch the language with fewer words. */
const ENOUGH_TURNS = 2
/** Share of the distinctive words that must belong to the language. */
const SHARE = 0.6

export function initialLanguage(languages: readonly string[]): LanguageState {
  return { current: languages[0] ?? 'en-IN', settled: false, candidate: null, turns: 0 }
}

/** Returns the state after a turn of the caller. `languages` are the agent's; others are never chosen. */
export function languageAfterTurn(
  state: LanguageState,
  turn: SpokenTurn,
  languages: readonly string[],
): LanguageState {
  if (languages.length < 2) return state
  const wanted = requestedLanguage(turn.text)
  if (wanted !== null && languages.includes(wanted)) {
    return { current: wanted, settled: true, candidate: null, turns: 0 }
  }
  const found = detectLanguage(turn, languages, state.current)
  if (found === null) return state
  const { language, words } = found
  if (language === state.current) {
    return { ...state, settled: state.settled || words >= ENOUGH_AT_FIRST, candidate: null, turns: 0 }
  }
  const turns = state.candidate === language ? state.turns + 1 : 1
  const needed = !state.settled
    ? ENOUGH_AT_FIRST
    : turn.detected === language
      ? ENOUGH_DETECTED
      : ENOUGH_WORDS
  if (words >= needed || turns >= ENOUGH_TURNS)
    return { current: language, settled: true, candidate: null, turns: 0 }
  return { ...state, candidate: language, turns }
}

/**
 * Returns the language of a text among `languages` and its number of words. Returns null when no word is
 * distinctive or the text is too mixed. Prefers `current` between languages that share a script.
 */
export function detectLanguage(
  { text, detected, translated }: SpokenTurn,
  languages: readonly string[],
  current: string,
): { readonly language: string; readonly words: number } | null {
  const heard = detected !== null && languages.includes(detected) ? detected : null
  const counts = new Map<string, number>()
  const count = (language: string | undefined, words = 1) => {
    if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + words)
  }
  let devanagari = 0
  for (const word of plainWords(text)) {
    if (/^\p{N}+$/u.test(word) || SHARED.has(word)) continue
    const script = translated ? 'latin' : scriptOf(word)
    if (script === 'latin') {
      const known = translated ? [] : ownersOf(word, LATIN, languages)
      // A word of two languages proves nothing. An unknown word counts for the detected language.
      if (known.length === 1) count(known[0])
      else if (known.length === 0 && heard !== null) count(heard)
    } else if (script === 'devanagari') {
      const known = ownersOf(word, NATIVE, languages)
      if (known.length === 1) count(known[0])
      else devanagari++
    } else if (script !== null && languages.includes(script)) count(script)
  }
  if (devanagari > 0) count(devanagariLanguage(counts, languages, heard, current), devanagari)
  const [first] = [...counts].sort(([, a], [, b]) => b - a)
  if (first === undefined) return null
  const [language, words] = first
  const all = [...counts.values()].reduce((sum, some) => sum + some, 0)
  return words >= all * SHARE ? { language, words } : null
}

/** Chooses between Hindi and Marathi for words that both have. */
function devanagariLanguage(
  counts: ReadonlyMap<string, number>,
  languages: readonly string[],
  heard: string | null,
  current: string,
): string | undefined {
  const two = languages.filter((tag) => tag === 'hi-IN' || tag === 'mr-IN')
  const [a, b] = two
  if (a === undefined || b === undefined) return a
  const difference = (counts.get(a) ?? 0) - (counts.get(b) ?? 0)
  if (difference !== 0) return difference > 0 ? a : b
  return two.find((tag) => tag === heard) ?? two.find((tag) => tag === current) ?? a
}

/** Returns `latin`, `devanagari`, or the only language of the word's script. */
function scriptOf(word: string): string | null {
  for (const [pattern, script] of SCRIPTS) if (pattern.test(word)) return script
  return null
}

const SCRIPTS: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Latin}/u, 'latin'],
  [/\p{Script=Devanagari}/u, 'devanagari'],
  [/\p{Script=Bengali}/u, 'bn-IN'],
  [/\p{Script=Tamil}/u, 'ta-IN'],
  [/\p{Script=Telugu}/u, 'te-IN'],
  [/\p{Script=Kannada}/u, 'kn-IN'],
  [/\p{Script=Malayalam}/u, 'ml-IN'],
  [/\p{Script=Gujarati}/u, 'gu-IN'],
  [/\p{Script=Gurmukhi}/u, 'pa-IN'],
  [/\p{Script=Oriya}/u, 'od-IN'],
]
