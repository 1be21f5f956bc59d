import type { Deps } from './deps.js'
import { retentionHandler, scheduleRetention } from './jobs/retention.js'
import { type JobRunner, openJobRunner } from './jobs/runner.js'
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
    handlers: [deliveryHandler({ ...deps, onDisabled: mailDisabled }), retentionHandler(db, clock)],
  })
}
