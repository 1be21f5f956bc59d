import { LANGUAGE_TAGS, languageData } from './language-data.js'

/* Recognises a caller's request for a person, in all languages. */

/** The expressions of each language; a denial counts in its own language only. */
const REQUESTS = LANGUAGE_TAGS.map((tag) => {
  const { asks, denies } = languageData(tag).personRequest
  return {
    asks: asks.map((text) => new RegExp(text, 'iu')),
    denies: denies.map((text) => new RegExp(text, 'iu')),
  }
})
/** Longer sentences are stories that mention a person. */
const MAX_WORDS = 25

/** Returns whether a caller asks to speak with a person. */
export function asksForPerson(text: string): boolean {
  return text
    .normalize('NFC')
    .split(/[.!?।॥\n]+/u)
    .map((sentence) => sentence.trim())
    .some((sentence) => sentence.split(/\s+/).length <= MAX_WORDS && asks(sentence))
}

function asks(sentence: string): boolean {
  return REQUESTS.some(
    ({ asks, denies }) =>
      asks.some((pattern) => pattern.test(sentence)) && !denies.some((pattern) => pattern.test(sentence)),
  )
}
