import type { AnsweredBy } from './answering-machine-detector.js'

/** Notes for the model about the party that answered. The agent's own prompt has priority. */
const NOTES: Readonly<Partial<Record<AnsweredBy, string>>> = {
  screening:
    'A call-screening service answered, not the person. Unless your instructions say otherwise, say in one ' +
    'sentence who calls and why, then wait.',
  ivr:
    'A recorded menu answered, not a person. Unless your instructions say otherwise, choose what leads to a ' +
    'person, with keys if you have a tool for them.',
}
const PERSON_AFTER_ALL = 'A person is on the line now.'

/** Selects the note for each new detection result. */
export class AnsweredByNote {
  #by: AnsweredBy | null = null

  /** Returns the note, or null when none is needed. A person needs one only after a machine was announced. */
  of(by: AnsweredBy): string | null {
    const before = this.#by
    if (before === by) return null
    this.#by = by
    const machineNoted = before !== null && NOTES[before] !== undefined
    return NOTES[by] ?? (by === 'human' && machineNoted ? PERSON_AFTER_ALL : null)
  }
}
