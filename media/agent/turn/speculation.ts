import { plainWords } from '../language/plain-words.js'
import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, Speculation } from './turn-types.js'

/*
 * Speculative model requests, made before the end of the caller's turn is decided. An answer stays unheard
 * and runs no tools until then. It is discarded when the words or anything else has changed.
 */

export type SpeculationInput =
  /** `consider`: the words may be complete. `check`: anything may have changed. `decide`: the turn is over. */
  | {
      readonly type: 'consider' | 'check' | 'decide'
      readonly caller: CallerTurn | null
      /** The words are there and only the decision is missing. */
      readonly undecided: boolean
    }
  | { readonly type: 'drop' }

export interface SpeculationStep {
  readonly next: Speculation | null
  /** What to do with the model: ask it, use its answer, discard its answer, or nothing. */
  readonly order: 'begin' | 'keep' | 'drop' | null
}

/** Returns the next state and the order for the model. Each turn allows one request. */
export function stepSpeculation(
  state: Speculation | null,
  input: SpeculationInput,
  policy: Pick<TurnPolicy, 'speculates' | 'openness'>,
): SpeculationStep {
  const same: SpeculationStep = { next: state, order: null }
  switch (input.type) {
    case 'consider': {
      const { caller, undecided } = input
      if (!policy.speculates || caller === null || !undecided || state?.caller === caller.id) return same
      const words = wordsOf(caller)
      if (words === '' || policy.openness(`${caller.text} ${caller.partial}`) !== 'closed') return same
      return { next: { caller: caller.id, words, live: true }, order: 'begin' }
    }
    case 'check':
      return state?.live && !matches(state, input) ? { next: { ...state, live: false }, order: 'drop' } : same
    case 'decide':
      return state?.live && matches(state, input) ? { next: { ...state, live: false }, order: 'keep' } : same
    case 'drop':
      return state?.live ? { next: { ...state, live: false }, order: 'drop' } : same
  }
}

function matches(
  state: Speculation,
  { caller, undecided }: { readonly caller: CallerTurn | null; readonly undecided: boolean },
): boolean {
  return undecided && caller?.id === state.caller && wordsOf(caller) === state.words
}

/** Normalises words. Recognitions that differ in capitals and punctuation need no new answer. */
function wordsOf({ text, partial }: CallerTurn): string {
  return [...plainWords(text), ...plainWords(partial)].join(' ')
}
