import { queueMailToAdmins } from '../mail/outbox.js'
import type { DisabledNotice } from './endpoint-health.js'

/** Mails owners and admins that an endpoint was disabled, in the same transaction. */
export const mailDisabledNotice: DisabledNotice = async (trx, endpoint, now) => {
  const text = [
    `The webhook endpoint ${endpoint.url} (${endpoint.id}) failed ${endpoint.consecutiveFailures} times in a row`,
    'and was disabled. Pending deliveries are kept for 24 hours.',
    '',
    'Fix the receiver, send a test event, and enable the endpoint again:',
    `PATCH /v1/integrations/webhooks/${endpoint.id} {"enabled": true}`,
  ].join('\n')
  await queueMailToAdmins(trx, now, endpoint.organizationId, {
    kind: 'notice',
    subject: 'A webhook endpoint was disabled',
    text,
  })
}
