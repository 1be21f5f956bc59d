import { allWords, LANGUAGE_TAGS } from './language-data.js'
import { languageTagOf } from './language-tags.js'
import { plainWords } from './plain-words.js'
import { wordSet } from './word-list.js'

/* Recognises a caller's request for another language, in all languages and their usual Latin spellings. */

/** Names by tag. Native names are beginnings because endings follow them ("in Tamil" is one word in Tamil). */
const NAMES: readonly (readonly [tag: string, stems: readonly string[]])[] = LANGUAGE_TAGS.map((tag) => [
  tag,
  normal(allWords(({ languageNames }) => languageNames[tag]).join(' ')),
])
/** Verbs in Latin letters, compared as whole words: "speaking" and "speaks" are about another person. */
const VERBS = wordSet(({ languageRequest }) => languageRequest.verbs, normal)
const VERB_STEMS = [...wordSet(({ languageRequest }) => languageRequest.verbStems, normal)]
/** Words that may stand beside a name in a request without a verb. */
const BESIDE = wordSet(({ languageRequest }) => languageRequest.beside, normal)
/** Negations stand before the name in English and after it in Indian languages. */
const NOT_BEFORE = wordSet(({ languageRequest }) => languageRequest.notBefore, normal)
const NOT_AFTER = wordSet(({ languageRequest }) => languageRequest.notAfter, normal)
const NOT_ENDINGS = allWords(({ languageRequest }) => languageRequest.notEndings)
/** With these the caller talks about a language. */
const SUBJECTS = wordSet(({ languageRequest }) => languageRequest.subjects, normal)

/** Longest request in words. */
const MAX_WORDS = 10
const CLAUSES = new RegExp(
  `[,.;:!?।॥\\n]+|\\s(?:${allWords(({ languageRequest }) => languageRequest.conjunctions).join('|')})\\s`,
  'u',
)

/** Returns the tag of the requested language, or null. The last request counts. */
export function requestedLanguage(text: string): string | null {
  let request: string | null = null
  for (const clause of text.split(CLAUSES)) request = requestOf(normal(clause)) ?? request
  return request
}

function requestOf(words: readonly string[]): string | null {
  if (words.length === 0 || words.length > MAX_WORDS || words.some((word) => SUBJECTS.has(word))) return null
  const names = words.flatMap((word, at) => {
    const tag = nameIn(word)
    return tag === null ? [] : [{ tag, at }]
  })
  const wanted = names.filter(
    ({ at }) =>
      !denied(
        words,
        at,
        names.map((name) => name.at),
      ),
  )
  const last = wanted.at(-1)
  if (!last) return null
  const talks = words.some((word) => VERBS.has(word) || VERB_STEMS.some((stem) => word.startsWith(stem)))
  const alone = words.every(
    (word, at) => BESIDE.has(word) || NOT_AFTER.has(word) || names.some((name) => name.at === at),
  )
  return talks || alone ? last.tag : null
}

function denied(words: readonly string[], at: number, names: readonly number[]): boolean {
  const before = Math.max(-1, ...names.filter((other) => other < at))
  const after = Math.min(words.length, ...names.filter((other) => other > at))
  const earlier = words.slice(Math.max(before + 1, at - 4), at)
  const later = words.slice(at + 1, Math.min(after, at + 5))
  return (
    earlier.some((word) => NOT_BEFORE.has(word)) ||
    later.some((word) => NOT_AFTER.has(word) || NOT_ENDINGS.some((ending) => word.endsWith(ending)))
  )
}

function nameIn(word: string): string | null {
  // Latin names must match completely; `or` and `ta` are ordinary words.
  if (/^[a-z]+$/.test(word)) {
    const named = NAMES.find(([, names]) => names.includes(word))
    return named ? named[0] : word.length > 4 ? languageTagOf(word) : null
  }
  return NAMES.find(([, names]) => names.some((name) => word.startsWith(name)))?.[0] ?? null
}

/** Normalises words. Recognisers disagree about the dot below (nukta): composed, decomposed or left out. */
function normal(text: string): string[] {
  return plainWords(text.normalize('NFD').replace(/[\u093c\u09bc\u0a3c\u0abc\u0b3c]/g, ''))
}
