import type { DoneRequests } from '../api/deps.js'

/**
 * Maximum number of remembered answers. The oldest is forgotten first: its call is over, or its client has given up.
 */
const MOST = 10_000

/**
 * Answers to the requests about live calls that this process has carried out, by the id of the request. A request that is
 * repeated because its answer was lost is not carried out again: what is said on a call cannot be undone. The memory ends
 * with the process, and so do its calls.
 */
export class RememberedRequests implements DoneRequests {
  readonly #answers = new Map<string, Promise<unknown>>()

  once<Answer>(id: string | null, carryOut: () => Promise<Answer>): Promise<Answer> {
    if (id === null) return carryOut()
    const earlier = this.#answers.get(id)
    // The same id is the same request, with an answer of the same type.
    if (earlier !== undefined) return earlier as Promise<Answer>
    const answer = carryOut()
    this.#answers.set(id, answer)
    answer.catch(() => this.#answers.delete(id))
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= MOST) break
      this.#answers.delete(oldest)
    }
    return answer
  }
}
