import type { FinishReason } from '../conversation-events.js'
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

/** Tells whether no person hears the agent. A detection without a result counts as a person. */
export function isMachine(by: AnsweredBy): boolean {
  return by !== 'human' && by !== 'unknown'
}

export interface AnsweredByStep {
  readonly next: AnsweredBy
  /** The note for the model, or null when none is needed. */
  readonly note: string | null
  /** Why the call ends, or null when it goes on. */
  readonly finish: FinishReason | null
}

/** Decides what a result of answering-machine detection means for the call. `state` is the result before. */
export function stepAnsweredBy(state: AnsweredBy | null, by: AnsweredBy): AnsweredByStep {
  const machineNoted = state !== null && NOTES[state] !== undefined
  // A person needs a note only after a machine was announced.
  const note = NOTES[by] ?? (by === 'human' && machineNoted ? PERSON_AFTER_ALL : null)
  const finish = by === 'voicemail' ? 'voicemail' : by === 'fax' ? 'agent_hangup' : null
  return { next: by, note: by === state ? null : note, finish }
}
