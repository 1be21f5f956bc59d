import { plainWords } from '../language/plain-words.js'
import type { TurnPolicy } from './turn-policy.js'
import type { CallerTurn, Speculation } from './turn-types.js'

/*
 * Speculative model requests, made before the end of the caller's turn is decided. An answer stays unheard
 * and runs no tools until then. It is discarded when the words or anything else has changed.
 */

/** Requests for one turn. A caller who goes on word by word would otherwise cost a request with each. */
const MAX_REQUESTS = 2

export type SpeculationInput =
  /** `consider`: the words may be complete. `check`: anything may have changed. `decide`: the turn is over. */
  | {
      readonly type: 'consider' | 'check' | 'decide'
      readonly caller: CallerTurn | null
      /** The words are there and only the decision is missing. */
      readonly undecided: boolean
      /** The question that the caller answers. */
      readonly asked?: string
    }
  | { readonly type: 'drop' }

export interface SpeculationStep {
  readonly next: Speculation | null
  /** Order for the model: ask it, ask it anew instead, use its answer, discard its answer, or nothing. */
  readonly order: 'begin' | 'renew' | 'keep' | 'drop' | null
}

/** Returns the next state and the order for the model. Each turn allows one request, and one more for other words. */
export function stepSpeculation(
  state: Speculation | null,
  input: SpeculationInput,
  policy: Pick<TurnPolicy, 'speculates' | 'openness'>,
): SpeculationStep {
  const same: SpeculationStep = { next: state, order: null }
  switch (input.type) {
    case 'consider': {
      const { caller, undecided, asked = '' } = input
      if (!policy.speculates || caller === null || !undecided) return same
      const before = state?.caller === caller.id ? state : null
      const words = wordsOf(caller)
      if (before !== null && (before.words === words || before.requests >= MAX_REQUESTS)) return same
      if (words === '' || policy.openness(`${caller.text} ${caller.partial}`, asked) !== 'closed') return same
      const next = { caller: caller.id, words, live: true, requests: (before?.requests ?? 0) + 1 }
      return { next, order: before?.live ? 'renew' : 'begin' }
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
