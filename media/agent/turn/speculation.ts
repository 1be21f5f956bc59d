import { plainWords } from '../language/plain-words.js'
import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, Speculation, TurnState } from './turn-types.js'

/*
 * Speculative model requests, made before the end of the caller's turn is decided. An answer stays unheard
 * and runs no tools until then. It is discarded when the words or anything else has changed.
 */

/** Returns the request to make now, or null. Each turn allows one, and only for words that look complete. */
export function newSpeculation(s: TurnState, policy: TurnPolicy): Speculation | null {
  const { caller } = s
  if (!policy.speculates || !caller || !waits(s)) return null
  if (s.speculation?.caller === caller.id) return null
  const words = wordsOf(caller)
  if (words === '' || policy.openness(`${caller.text} ${caller.partial}`) !== 'closed') return null
  return { caller: caller.id, words, live: true }
}

/** Returns whether the speculative request still matches the turn. */
export function speculationHolds(s: TurnState): boolean {
  const { speculation, caller } = s
  if (!speculation?.live || !caller || !waits(s)) return false
  return speculation.caller === caller.id && wordsOf(caller) === speculation.words
}

/** Returns whether only the decision is missing: the words are there and no keys are pending. */
function waits({ phase, digits }: TurnState): boolean {
  return digits === '' && (phase === 'waitingFinal' || phase === 'callerSpeaking')
}

/** Normalises words. Recognitions that differ in capitals and punctuation need no new answer. */
function wordsOf({ text, partial }: CallerTurn): string {
  return [...plainWords(text), ...plainWords(partial)].join(' ')
}
