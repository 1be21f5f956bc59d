import { istDate } from '../calling-hours.js'
import { ASKED_LATER, finding, type GateCheck, REGISTER_UNKNOWN } from '../check.js'
import { isActive } from '../consent-state.js'
import { ruleOn } from '../dated-rule.js'

/**
 * Refuses promotional calls to numbers on the DND register, except with an active explicit consent. A live call is
 * refused when the register gave no answer.
 */
export const dndRegister: GateCheck = {
  type: 'dnd_register',
  code: 'blocked_dnd',
  paid: true,
  decide({ purpose, environment }, { policy, consent, register, registerDay, wallet }, now) {
    const rule = ruleOn(policy.register, istDate(now))
    if (rule === null || !rule.purposes.includes(purpose)) {
      return finding('pass', 'not_required', `The register is not asked for ${purpose} calls.`)
    }
    const { source } = rule
    if (consent !== null && consent.kind === 'explicit' && isActive(consent, now)) {
      return finding('pass', 'explicit_consent', 'An explicit consent overrides the register.', {
        source,
        details: { consentId: consent.id },
      })
    }
    if (register === null || register.validUntil <= now || register.state === 'unknown') {
      if (registerDay === 'later') {
        return finding('warn', ASKED_LATER, 'Not checked: the register is asked on the day of the call.', {
          source,
        })
      }
      if (wallet !== null && (wallet.onHold || wallet.availablePaise < wallet.minBalancePaise)) {
        return finding('skipped', 'wallet_short', 'Skipped: the wallet does not cover the call.')
      }
      const details = { register: register?.register ?? null }
      return environment === 'live'
        ? finding('block', REGISTER_UNKNOWN, 'The DND register gave no answer.', { source, details })
        : finding('warn', REGISTER_UNKNOWN, 'The DND register gave no answer.', { source, details })
    }
    const details = { ...register }
    return register.state === 'listed'
      ? finding('block', 'listed', 'The number is listed on the DND register.', { source, details })
      : finding('pass', 'not_listed', 'The number is not listed on the DND register.', { source, details })
  },
}
