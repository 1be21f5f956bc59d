import { hoursOn, isInside, nextAllowedAt } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'

/** Refuses calls outside the calling hours of their purpose. */
export const callingWindow: GateCheck = {
  type: 'calling_window',
  code: 'blocked_opt_out',
  decide({ purpose, environment }, { policy, windowNarrowing }, now) {
    const question = { rules: policy.hours, purpose, environment, narrowing: windowNarrowing }
    const window = hoursOn(question, now)
    if (window === null) return finding('pass', 'no_window', `No calling hours apply to ${purpose} calls.`)
    const { source, startMinute, endMinute, effectiveFrom } = window
    const details = { windowStartMinute: startMinute, windowEndMinute: endMinute, effectiveFrom }
    return isInside(window, now)
      ? finding('pass', 'inside_window', `Inside the calling hours of ${purpose} calls.`, { source, details })
      : finding('block', 'outside_window', `Outside the calling hours of ${purpose} calls.`, {
          source,
          details,
          nextAllowedAt: nextAllowedAt(question, now),
        })
  },
}
