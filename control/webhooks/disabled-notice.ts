import { queueMailToAdmins } from '../mail/outbox.js'
import type { DisabledNotice } from './endpoint-health.js'

/** Mails owners and admins that an endpoint was switched off, in the transaction that did it. */
export const mailDisabledNotice: DisabledNotice = async (trx, endpoint, now) => {
  const text = [
    `The webhook endpoint ${endpoint.url} (${endpoint.id}) failed ${endpoint.consecutiveFailures} times in a row`,
    'and was switched off. What waits for it is kept for 24 hours.',
    '',
    'Repair the receiver, try it with "test", and switch the endpoint on again:',
    `PATCH /v1/integrations/webhooks/${endpoint.id} {"enabled": true}`,
  ].join('\n')
  await queueMailToAdmins(trx, now, endpoint.organizationId, {
    kind: 'notice',
    subject: 'A webhook endpoint was switched off',
    text,
  })
}
