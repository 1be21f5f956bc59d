import { istDate } from '../calling-hours.js'
import { finding, type GateCheck } from '../check.js'
import { appliesOn } from '../dated-rule.js'
import { noCallerId } from './robocall-declaration.js'

/** Refuses caller IDs of a registered series without an approved sender ID, or for another purpose. */
export const senderRegistration: GateCheck = {
  type: 'sender_registration',
  code: 'blocked_dlt_invalid',
  decide({ purpose, environment }, { policy, sender, callerId }, now) {
    if (callerId === 'unknown') return noCallerId(null)
    const { series, approved, peId } = sender
    const rule = policy.series.find(({ prefix }) => prefix === series)
    if (rule === undefined || !appliesOn(rule, istDate(now))) {
      return environment === 'live'
        ? finding('warn', 'ordinary_number', 'The caller ID is an ordinary number, of no registered series.')
        : finding('pass', 'ordinary_number', 'The caller ID is an ordinary number.')
    }
    const details = {
      series,
      senderId: approved?.id ?? null,
      dltHeaderId: approved?.dltHeaderId ?? null,
      peId,
    }
    const more = { source: rule.source, details }
    if (approved === null) {
      return finding('block', 'sender_not_approved', 'The caller ID is no approved sender ID.', more)
    }
    if (peId === null) {
      return finding('block', 'pe_id_missing', 'The organization has no principal entity ID.', more)
    }
    return rule.purposes.includes(purpose)
      ? finding('pass', 'registered', 'The caller ID is an approved sender ID.', more)
      : finding('block', 'series_not_for_purpose', `The ${series} series is not for ${purpose} calls.`, more)
  },
}
