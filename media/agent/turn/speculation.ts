import { plainWords } from '../language/plain-words.js'
import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, Speculation, TurnState } from './turn-types.js'

/*
 * A model asked before it is decided that the caller has finished. It is heard by nobody and does nothing
 * until then; when the words turn out to be others, or anything else has changed, it never was.
 */

/** What to ask for now, or null: one try for a turn, and only for words that look complete. */
export function newSpeculation(s: TurnState, policy: TurnPolicy): Speculation | null {
  const { caller } = s
  if (!policy.speculates || !caller || !waits(s)) return null
  if (s.speculation?.caller === caller.id) return null
  const words = wordsOf(caller)
  if (words === '' || policy.openness(`${caller.text} ${caller.partial}`) !== 'closed') return null
  return { caller: caller.id, words, live: true }
}

/** Whether what was asked is still what would be asked. */
export function speculationHolds(s: TurnState): boolean {
  const { speculation, caller } = s
  if (!speculation?.live || !caller || !waits(s)) return false
  return speculation.caller === caller.id && wordsOf(caller) === speculation.words
}

/** Nothing but the decision is missing: the caller's words are there, and nobody else acts on them. */
function waits({ phase, digits }: TurnState): boolean {
  return digits === '' && (phase === 'waitingFinal' || phase === 'callerSpeaking')
}

/** Two recognitions of one thing differ in capitals and points: no model answers them differently. */
function wordsOf({ text, partial }: CallerTurn): string {
  return [...plainWords(text), ...plainWords(partial)].join(' ')
}
