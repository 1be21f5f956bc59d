import { istDate } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'
import { isActive } from '../consent-state.js'
import { ruleOn } from '../dated-rule.js'

const DAY_MS = 86_400_000

/** States which consent the call rests on. It warns and never blocks. */
export const consent: GateCheck = {
  type: 'consent',
  // Never used. The table of codes is complete.
  code: 'blocked_opt_out',
  decide({ purpose }, facts, now) {
    const needed = ruleOn(facts.policy.consentNeeded, istDate(now))
    if (needed === null || !needed.purposes.includes(purpose)) {
      return finding('pass', 'not_required', `No consent is required for ${purpose} calls.`)
    }
    const { source } = needed
    const found = facts.consent
    if (found === null) {
      return finding('warn', 'no_consent', `No consent to ${purpose} calls is recorded.`, { source })
    }
    const details = { consentId: found.id, kind: found.kind }
    if (!isActive(found, now)) {
      return finding('warn', 'consent_expired', 'The consent has expired.', { source, details })
    }
    const age = ruleOn(facts.policy.consentAge, istDate(now))
    if (purpose === 'promotional' && age !== null && now - found.capturedAt > age.days * DAY_MS) {
      const message = `The consent is older than ${age.days} days.`
      return finding('warn', 'consent_old', message, { source: age.source, details })
    }
    return finding('pass', `${found.kind}_consent`, 'A consent is recorded.', { source, details })
  },
}
