import type { AnsweredBy } from './answering-machine-detector.js'

/** What a model is told of who took the call; the agent's own prompt comes first. */
const NOTES: Readonly<Partial<Record<AnsweredBy, string>>> = {
  screening:
    'A call-screening service answered, not the person. Unless your instructions say otherwise, say in one ' +
    'sentence who calls and why, then wait.',
  ivr:
    'A recorded menu answered, not a person. Unless your instructions say otherwise, choose what leads to a ' +
    'person, with keys if you have a tool for them.',
}
const PERSON_AFTER_ALL = 'A person is on the line now.'

/** Finds the words for each new verdict about who answered. */
export class AnsweredByNote {
  #by: AnsweredBy | null = null

  /** Null when there is nothing to say: a person needs no word, unless a machine was told of before. */
  of(by: AnsweredBy): string | null {
    const before = this.#by
    if (before === by) return null
    this.#by = by
    const told = before !== null && NOTES[before] !== undefined
    return NOTES[by] ?? (by === 'human' && told ? PERSON_AFTER_ALL : null)
  }
}
