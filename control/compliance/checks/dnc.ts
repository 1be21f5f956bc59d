import { istDate } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'
import { ruleOn } from '../dated-rule.js'

/** Refuses numbers on the organization's do-not-call list. No consent overrides the list. */
export const dnc: GateCheck = {
  type: 'dnc',
  code: 'blocked_dnd',
  decide(_request, { suppressions, policy }, now) {
    const source = ruleOn(policy.suppression, istDate(now))?.source ?? null
    const active = suppressions.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
    if (active.length === 0) {
      return finding('pass', 'not_suppressed', 'The number is not on the do-not-call list.', { source })
    }
    const ends = active.map(({ expiresAt }) => expiresAt)
    return finding('block', 'suppressed', 'The number is on the do-not-call list.', {
      source,
      details: {
        entries: active.flatMap(({ id }) => id ?? []),
        sources: [...new Set(active.map((entry) => entry.source))],
      },
      nextAllowedAt: ends.includes(null) ? null : Math.max(...ends.map(Number)),
    })
  },
}
