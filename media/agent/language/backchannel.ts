import { plainWords } from './plain-words.js'
import { WordList, wordSet } from './word-list.js'

export const BACKCHANNELS = new WordList(({ backchannels }) => backchannels)
export const GREETINGS = wordSet(({ greetings }) => greetings)

/** More words than this are a sentence. */
const MAX_WORDS = 3

/**
 * Returns whether a text only signals listening ("haan, haan"). Such words do not interrupt the agent, but
 * they are a full answer to a question. Over the opening line a greeting counts too. `language` is the
 * call's, null when unknown.
 */
export function isBackchannel(text: string, overOpening: boolean, language: string | null = null): boolean {
  const words = plainWords(text)
  if (words.length === 0 || words.length > MAX_WORDS) return false
  return words.every((word) => BACKCHANNELS.has(word, language) || (overOpening && GREETINGS.has(word)))
}
