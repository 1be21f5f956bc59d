import { istDate } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'
import { ruleOn } from '../dated-rule.js'

/** Refuses live calls of organizations that staff has not verified. */
export const verification: GateCheck = {
  type: 'verification',
  code: 'blocked_opt_out',
  decide({ environment }, facts, now) {
    if (environment === 'test') {
      return finding('pass', 'simulated', 'Calls of the test environment need no verification.')
    }
    const more = {
      source: ruleOn(facts.policy.verification, istDate(now))?.source ?? null,
      details: { status: facts.verification },
    }
    return facts.verification === 'verified'
      ? finding('pass', 'verified', 'The organization is verified.', more)
      : finding('block', `organization_${facts.verification}`, 'The organization is not verified.', more)
  },
}
