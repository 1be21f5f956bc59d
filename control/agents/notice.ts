import type { Db, Trx } from '../db/database.js'
import { readMonitoring } from '../organization/monitoring.js'
import type { AgentConfig } from './config.js'

/** Why callers should hear a notice that an agent does not give. */
export type MissingNotice = 'recorded' | 'monitored'

/**
 * Returns why an agent should have a recording notice, or null. In the test environment only simulated people are
 * monitored.
 */
export async function missingNotice(
  db: Db | Trx,
  about: {
    readonly organizationId: string
    readonly environment: 'test' | 'live'
    readonly recorded: boolean
    readonly config: AgentConfig
  },
): Promise<MissingNotice | null> {
  const { organizationId, environment, recorded, config } = about
  if (config.callSettings.recordingNotice !== null) return null
  if (recorded) return 'recorded'
  if (environment === 'test') return null
  return (await readMonitoring(db, organizationId)).live === 'off' ? null : 'monitored'
}

/** `missingNotice` for the live numbers that an agent answers. */
export async function noticeWarnings(
  db: Db | Trx,
  { organizationId, agentId }: { readonly organizationId: string; readonly agentId: string },
  config: AgentConfig,
): Promise<{ code: 'recording_notice_missing'; path: string; message: string }[]> {
  const rows = await db
    .selectFrom('numbers')
    .select('recordCalls')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', 'live')
    .where('agentId', '=', agentId)
    .where('releasedAt', 'is', null)
    .execute()
  const recorded = rows.some(({ recordCalls }) => recordCalls === 1)
  const why = await missingNotice(db, { organizationId, environment: 'live', recorded, config })
  if (why === null) return []
  const what = why === 'recorded' ? 'Live calls of the agent are recorded' : 'Live calls may be monitored'
  const message = `${what}, and the agent does not say so. Set callSettings.recordingNotice.`
  return [{ code: 'recording_notice_missing', path: 'callSettings.recordingNotice', message }]
}
