import type { StoredTerms } from './term-lists.js'
import { stemOf } from './words.js'

/*
 * Indexes of earlier releases, versions 1 to 3. They are searched by their own rules until the next build.
 */

/** Numbers by the number of a passage or a field. */
type ByNumber = Readonly<Record<string, number>>

/** Terms as the library MiniSearch stores them (its serialization version 2). */
export interface EarlierTerms {
  readonly documentCount: number
  readonly fieldIds: Readonly<Record<string, number>>
  readonly fieldLength: Readonly<Record<string, readonly number[]>>
  readonly index: readonly (readonly [term: string, byField: Readonly<Record<string, ByNumber>>])[]
}

/** Returns the terms of an earlier index in the present form. */
export function presentTerms({ documentCount, fieldIds, fieldLength, index }: EarlierTerms): StoredTerms {
  const fields = Object.entries(fieldIds).sort(([, a], [, b]) => a - b)
  return {
    fields: fields.map(([name]) => name),
    lengths: fields.map(([, field]) => {
      return Array.from({ length: documentCount }, (_, passage) => fieldLength[passage]?.[field] ?? 0)
    }),
    terms: index.map(([term, byField]) => [
      term,
      fields.map(([, field]) => {
        const times = byField[field]
        return times === undefined ? null : Object.entries(times).flat().map(Number)
      }),
    ]),
  }
}

/** Returns the stem of a word in an index of this version. Before version 3, words of Bengali and Tamil were whole. */
export function earlierStemOf(version: number): (word: string) => string {
  return (word) => {
    if (/^[a-z]+$/.test(word)) return earlierEnglishStem(word)
    return version >= 3 || /^[a-z\u0900-\u097f]/.test(word) ? stemOf(word) : word
  }
}

function earlierEnglishStem(word: string): string {
  if (word.length <= 3) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2)
  if (word.endsWith('s') && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1)
  if (word.endsWith('ing') && word.length > 5) return undoubled(word.slice(0, -3))
  if (word.endsWith('ed') && word.length > 4) return undoubled(word.slice(0, -2))
  return word
}

function undoubled(stem: string): string {
  return /([bdgklmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem
}
