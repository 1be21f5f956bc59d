import type { WebhookEndpointRow } from './db/webhook-tables.js'
import type { Deps } from './deps.js'
import { retentionHandler, scheduleRetention } from './jobs/retention.js'
import { type JobRunner, openJobRunner } from './jobs/runner.js'
import { type Mail, queueMailToAdmins } from './mail/outbox.js'
import { deliveryHandler } from './webhooks/deliver.js'
import { mailDisabled } from './webhooks/notice.js'

type BackgroundDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'rootKey' | 'egress' | 'publicUrl'>

/** Everything that is done later than it was asked for. Later parts add their handlers here. */
export async function openBackground(deps: BackgroundDeps): Promise<JobRunner> {
  const { db, clock, log } = deps
  await scheduleRetention(db, clock.wall())
  return openJobRunner({
    db,
    clock,
    log,
    handlers: [
      deliveryHandler({ ...deps, onDisabled: mailDisabled }),
      retentionHandler(db, clock),
    ],
  })
}

function webhookOff({ id, url }: WebhookEndpointRow): Mail {
  return {
    kind: 'notice',
    subject: 'A Parley webhook endpoint was switched off',
    text: [
      `Deliveries to ${url} (${id}) failed too many times in a row, so the endpoint was switched off.`,
      'Put it right, then switch it on again. What is waiting goes out if that is within 24 hours; everything stays in the event log for 30 days.',
    ].join('\n\n'),
  }
}
