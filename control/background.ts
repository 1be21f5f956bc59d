import { recordingsFolder } from './calls/settle.js'
import type { Deps } from './deps.js'
import { retentionHandlers, scheduleRetention } from './jobs/retention.js'
import { type JobRunner, openJobRunner } from './jobs/runner.js'
import { deliveryHandler } from './webhooks/deliver.js'
import { mailDisabled } from './webhooks/notice.js'

type BackgroundDeps = Pick<
  Deps,
  'db' | 'clock' | 'log' | 'rootKey' | 'egress' | 'publicUrl' | 'settings' | 'nodeId' | 'telemetry'
>

/** Everything that is done later than it was asked for. Later parts add their handlers here. */
export async function openBackground(deps: BackgroundDeps): Promise<JobRunner> {
  const { db, clock, log, nodeId } = deps
  await scheduleRetention(db, nodeId, clock.wall())
  const retention = retentionHandlers({
    db,
    clock,
    log,
    nodeId,
    recordings: recordingsFolder(deps.settings.dataFolder),
  })
  return openJobRunner({
    db,
    clock,
    log,
    handlers: [
      deliveryHandler({ ...deps, onDisabled: mailDisabled, onAttempt: deps.telemetry.delivery }),
      ...retention,
    ],
  })
}
