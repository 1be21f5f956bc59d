import { type Kysely, Migrator } from 'kysely'
import { EngineError } from '../../media/base/errors.js'
import type { Dialect, OpenDatabase } from './database.js'
import { createCallingTables } from './migrations/0002-calling.js'
import { createOrganizationTables } from './migrations/0005-organization.js'
import { createMediaEndpoints } from './migrations/0007-media-endpoints.js'
import { createAccessTables } from './tables/access.js'
import { createIdentityTables } from './tables/identity.js'
import { createRequestLimits } from './tables/request-limits.js'
import { createResultTables } from './tables/results.js'
import { addTrunkSrtp, createTrunkTables } from './tables/trunks.js'
import { createWebhookTables } from './tables/webhooks.js'

type Step = (db: Kysely<unknown>, engine: Dialect) => Promise<void>

/** In order, by name. A released step is never changed; schema changes are new steps. */
const STEPS: Readonly<Record<string, Step>> = {
  '0001_identity': createIdentityTables,
  '0002_calling': createCallingTables,
  '0003_access': createAccessTables,
  '0003_request_limits': createRequestLimits,
  '0004_webhooks': createWebhookTables,
  '0005_organization': createOrganizationTables,
  '0006_trunks': createTrunkTables,
  '0007_media_endpoints': createMediaEndpoints,
  '0008_trunk_srtp': addTrunkSrtp,
  '0009_call_results': createResultTables,
}

/**
 * Brings the schema up to date, all steps in one transaction. Several processes may do so at once:
 * one does the work, the others wait. Throws EngineError `storage_failed`.
 */
export async function migrate(database: OpenDatabase): Promise<void> {
  const migrator = new Migrator({
    db: database.db,
    provider: {
      async getMigrations() {
        return Object.fromEntries(
          Object.entries(STEPS).map(([name, step]) => [
            name,
            { up: (db: Kysely<unknown>) => step(db, database.dialect) },
          ]),
        )
      },
    },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    throw new EngineError('storage_failed', 'the database schema could not be brought up to date', {
      cause: error,
    })
  }
}
