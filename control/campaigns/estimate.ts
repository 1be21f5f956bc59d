import { afterOpenTime, type DialWindow } from './dial-window.js'

/*
 * How long a campaign takes, from its pace, its slots and what earlier attempts were like.
 */

/** Experience of attempts: share answered (0 to 1), mean conversation and mean ringing of an unanswered call (s). */
export interface Experience {
  readonly answered: number
  readonly talkSeconds: number
  readonly ringSeconds: number
}

/** Used while an organization has no attempts. */
export const NO_EXPERIENCE: Experience = { answered: 0.35, talkSeconds: 75, ringSeconds: 25 }

export interface EstimateInput {
  readonly callable: number
  /** Most dials per recipient. */
  readonly attempts: number
  readonly callsPerMinute: number
  /** Calls at the same time: the campaign's limit and the free slots. */
  readonly slots: number
  readonly experience: Experience
  readonly window: DialWindow
  /** Sum of the delays between the first and the last attempt (ms). */
  readonly retryTailMs: number
  /** Unix ms. */
  readonly startsAt: number
}

/** Times of the end (Unix ms). Null if it takes more than a year. */
export interface FinishEstimate {
  readonly low: number | null
  readonly likely: number | null
  readonly high: number | null
}

/** Returns the dials per second that pace and slots allow. */
export function dialRate({ callsPerMinute, slots, experience }: EstimateInput): number {
  const { answered, talkSeconds, ringSeconds } = experience
  const holdingSeconds = answered * talkSeconds + (1 - answered) * ringSeconds
  return Math.min(callsPerMinute / 60, Math.max(1, slots) / Math.max(1, holdingSeconds))
}

/** Returns the dials per recipient. A person without an answer is dialled again. */
export function expectedDials(answered: number, attempts: number): number {
  let sum = 0
  for (let attempt = 0; attempt < attempts; attempt++) sum += (1 - answered) ** attempt
  return sum
}

/** Estimates the end: with no retries, with those to be expected, and with all of them. */
export function estimateFinish(input: EstimateInput): FinishEstimate {
  const { callable, attempts, experience, window, retryTailMs, startsAt } = input
  const rate = dialRate(input)
  const endOf = (dialsEach: number, waitMs: number): number | null => {
    const ends = afterOpenTime(window, startsAt, ((callable * dialsEach) / rate) * 1000)
    const waited = waitMs === 0 ? startsAt : afterOpenTime(window, startsAt + waitMs, 0)
    return ends === null || waited === null ? null : Math.ceil(Math.max(ends, waited))
  }
  return {
    low: endOf(1, 0),
    likely: endOf(expectedDials(experience.answered, attempts), retryTailMs),
    high: endOf(attempts, retryTailMs),
  }
}
