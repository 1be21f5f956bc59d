import { istDate } from '../compliance/calling-hours.js'
import { ruleOn } from '../compliance/dated-rule.js'

const DAY_MS = 24 * 3_600_000

/** Times for which the law wants records of processing to be kept, also against the wish of the person. */
const FLOORS = [
  {
    days: 365,
    source: 'Digital Personal Data Protection Rules 2025, rule 8(3)',
    effectiveFrom: '2027-05-13',
  },
]

/** Returns the time from which the data of a call may be erased (Unix ms). `now` decides which law counts. */
export function erasableFrom(callCreatedAt: number, now: number): number {
  const floor = ruleOn(FLOORS, istDate(now))
  return floor === null ? callCreatedAt : callCreatedAt + floor.days * DAY_MS
}
