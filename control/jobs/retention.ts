import type { Clock } from '../../media/base/clock.js'
import type { Db } from '../db/open.js'
import { EVENT_RETENTION_MS } from '../events/store.js'
import { wipeOldSecrets } from '../webhooks/endpoint-store.js'
import type { HeldJob, JobHandler, Outcome } from './runner.js'
import { addJobs } from './store.js'

const KIND = 'retention'
const HOUR_MS = 3_600_000
/** Rows removed by one statement: other writers get their turn in between. */
const CHUNK = 500

/** One sweep: what to remove, by the name of its job. */
type Sweep = (db: Db, now: number, job: HeldJob) => Promise<void>

const SWEEPS: Readonly<Record<string, Sweep>> = {
  events: (db, now, job) =>
    chunks(job, () =>
      db
        .deleteFrom('events')
        .where('id', 'in', (query) =>
          query
            .selectFrom('events')
            .select('id')
            .where('createdAt', '<=', now - EVENT_RETENTION_MS)
            .limit(CHUNK),
        )
        .returning('id')
        .execute(),
    ),
  'webhook-deliveries': (db, now, job) =>
    chunks(job, () =>
      db
        .deleteFrom('webhookDeliveries')
        .where('id', 'in', (query) =>
          query
            .selectFrom('webhookDeliveries')
            .select('id')
            .where('createdAt', '<=', now - EVENT_RETENTION_MS)
            .where('status', '!=', 'pending')
            .limit(CHUNK),
        )
        .returning('id')
        .execute(),
    ),
  'idempotency-keys': (db, now, job) =>
    chunks(job, () =>
      db
        .deleteFrom('idempotencyKeys')
        .where('id', 'in', (query) =>
          query
            .selectFrom('idempotencyKeys')
            .select('id')
            .where('expiresAt', '<=', now)
            .where('lockedUntil', '<=', now)
            .limit(CHUNK),
        )
        .returning('id')
        .execute(),
    ),
  'webhook-secrets': (db, now) => wipeOldSecrets(db, now),
}

async function chunks(job: HeldJob, remove: () => Promise<readonly unknown[]>): Promise<void> {
  while (!job.signal.aborted && (await remove()).length === CHUNK) {
    // Nothing: each round removes the next chunk.
  }
}

/** Removes what is past its time, every hour, in one of the processes that share the database. */
export function retentionHandler(db: Db, clock: Clock): JobHandler {
  return {
    kind: KIND,
    concurrency: 1,
    async run(job): Promise<Outcome> {
      const sweep = SWEEPS[job.payload]
      // A sweep of another release: its job is not ours to keep.
      if (sweep === undefined) return async () => null
      await sweep(db, clock.wall(), job)
      return async () => clock.wall() + HOUR_MS
    },
  }
}

/** Makes sure that every sweep has its job. */
export async function scheduleRetention(db: Db, now: number): Promise<void> {
  const jobs = Object.keys(SWEEPS).map((name) => ({
    id: `${KIND}:${name}`,
    kind: KIND,
    dueAt: now,
    payload: name,
  }))
  await addJobs(db, jobs, now)
}
