import { anyPattern } from './word-list.js'

/*
 * Recognises the wish of a caller not to be called again, in all languages. A wish for now only ("do not call me
 * today") is none.
 */

const REQUESTS = anyPattern(({ optOut }) => optOut.requests, 'iu')
const NOT_NOW = anyPattern(({ optOut }) => optOut.notNow, 'iu')
const CLAUSES = /[,.;:!?।॥\n]+/u

/** Returns whether a text of the caller asks for no more calls. */
export function asksForNoCalls(text: string): boolean {
  return text
    .normalize('NFC')
    .replace(/[\u2018\u2019]/g, "'")
    .split(CLAUSES)
    .map((clause) => clause.trim().replace(/\s+/g, ' '))
    .some((clause) => REQUESTS.test(clause) && !NOT_NOW.test(clause))
}
