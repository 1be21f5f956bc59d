import { istDate } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'
import { ruleOn } from '../dated-rule.js'

const HOUR_MS = 3_600_000

/** Refuses a campaign call to a person who answered another campaign of the organization shortly before. */
export const frequencyCap: GateCheck = {
  type: 'frequency_cap',
  code: 'blocked_opt_out',
  decide({ campaignId = null, purpose }, { policy, lastCampaignAnswerAt }, now) {
    const rule = ruleOn(policy.frequencyCap, istDate(now))
    if (campaignId === null || rule === null || !rule.purposes.includes(purpose)) {
      return finding('pass', 'not_capped', 'No frequency cap applies to this call.')
    }
    const { source, hours } = rule
    const freeAt = lastCampaignAnswerAt === null ? null : lastCampaignAnswerAt + hours * HOUR_MS
    if (freeAt === null || freeAt <= now) {
      return finding('pass', 'below_cap', `No other campaign was answered in the last ${hours} hours.`, {
        source,
        details: { hours },
      })
    }
    return finding(
      'block',
      'answered_recently',
      `Another campaign was answered in the last ${hours} hours.`,
      {
        source,
        details: { hours },
        nextAllowedAt: freeAt,
      },
    )
  },
}
